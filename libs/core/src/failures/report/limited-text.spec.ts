import fc from 'fast-check';
import { limitedText } from './limited-text.js';

const bytes = (text: string): number => Buffer.byteLength(text);

describe('limitedText()', () => {
  it.each([
    ['fits exactly', 'abcd', 4, 'abcd'],
    ['is cut at the limit', 'abcde', 4, 'abcd'],
    ['loses a character of two bytes whole', 'abcé', 4, 'abc'],
    ['keeps a character of two bytes that fits', 'abé', 4, 'abé'],
    ['loses a character of three bytes whole', 'ab€', 4, 'ab'],
    ['keeps a character of three bytes that fits', 'a€', 4, 'a€'],
    ['loses a character of four bytes whole', 'a😀', 4, 'a'],
    ['keeps a character of four bytes that fits', '😀b', 4, '😀'],
    ['may be empty', '😀', 3, ''],
    ['has U+FFFD for half a character', 'a\ud83d', 4, 'a\ufffd'],
    ['has U+FFFD for the other half', '\ude00a', 4, '\ufffda'],
    ['does not make halves of a whole at the cut', 'aaa😀', 4, 'aaa'],
  ])('returns a text that %s', (_, text, limit, expected) => {
    expect(limitedText(text, limit)).toBe(expected);
  });

  it('returns the longest whole prefix within the limit', () => {
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
