import fc from 'fast-check';
import { limitedText } from './limited-text.js';

const bytes = (text: string): number => Buffer.byteLength(text);

describe('limitedText()', () => {
  it.each([
    ['fits exactly', 'abcd', 4, 'abcd'],
    ['is one byte too long', 'abcde', 4, 'abcd'],
    ['ends with a character of two bytes that does not fit', 'abcé', 4, 'abc'],
    ['ends with a character of two bytes that fits', 'abé', 4, 'abé'],
    ['ends with a character of three bytes that does not fit', 'ab€', 4, 'ab'],
    ['ends with a character of three bytes that fits', 'a€', 4, 'a€'],
    ['ends with a character of four bytes that does not fit', 'a😀', 4, 'a'],
    ['has a character of four bytes that fits', '😀b', 4, '😀'],
    ['begins with a character that does not fit', '😀', 3, ''],
    ['has a high surrogate alone, which becomes U+FFFD', 'a\ud83d', 4, 'a\ufffd'],
    ['has a low surrogate alone, which becomes U+FFFD', '\ude00a', 4, '\ufffda'],
    ['has a surrogate pair at the limit', 'aaa😀', 4, 'aaa'],
  ])('returns a prefix within the limit for a text that %s', (_, text, limit, expected) => {
    expect(limitedText(text, limit)).toBe(expected);
  });

  it('returns the longest prefix of whole characters within the limit', () => {
    const any = fc.string({ unit: 'binary', maxLength: 60 });
    const halves = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 });
    const texts = fc.oneof(
      any,
      halves.map((units) => String.fromCharCode(...units)),
    );
    fc.assert(
      fc.property(texts, fc.nat(80), (text, limit) => {
        const cut = limitedText(text, limit);
        expect(bytes(cut)).toBeLessThanOrEqual(limit);
        const whole = Buffer.from(text).toString();
        expect(whole.startsWith(cut)).toBe(true);
        const [next] = whole.slice(cut.length);
        if (next !== undefined) expect(bytes(cut) + bytes(next)).toBeGreaterThan(limit);
      }),
    );
  });
});
