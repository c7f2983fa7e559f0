import fc from 'fast-check';
import { keyText, printedKey } from './record-key.js';

const bytes = fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each));

describe('The text of a key', () => {
  it('has the bytes of the key, whatever they are, or there is none', () => {
    fc.assert(
      fc.property(bytes, (key) => {
        const text = keyText(key);
        expect(text === undefined || Buffer.from(text).equals(key)).toBe(true);
      }),
    );
  });

  it.each([
    ['a text', Buffer.from('customer-7'), 'customer-7'],
    ['no bytes', Buffer.alloc(0), ''],
    ['text beyond ASCII, with a tab', Buffer.from('Zürich\t🚆'), 'Zürich\t🚆'],
    ['bytes that are not UTF-8', Buffer.from([0xff, 1]), undefined],
    ['a number of four bytes', Buffer.from([0, 0, 0, 42]), undefined],
    ['a large number that is ASCII by chance', Buffer.from([1, 65, 66, 67]), undefined],
    ['Avro', Buffer.from([0, 0, 0, 0, 7, 6, 65, 66, 67]), undefined],
  ])('is right for %s', (_, key, expected) => {
    expect(keyText(key)).toBe(expected);
  });

  it('is different for different keys when they are printed', () => {
    const isPrefixed = (key: Buffer): boolean => key.toString('latin1').startsWith('base64:');
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        fc.pre(!isPrefixed(one) && !isPrefixed(other));
        expect(printedKey(one) === printedKey(other)).toBe(one.equals(other));
      }),
    );
    expect(printedKey(null)).toBeNull();
    expect(printedKey(Buffer.from([0xff]))).toBe('base64:/w==');
  });
});
