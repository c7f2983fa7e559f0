import { quotesPayload } from './quotes-payload.js';

describe('quotesPayload', () => {
  it.each<[string, string, unknown]>([
    ['that is the whole message', 'jane', 'jane'],
    ['between other words', 'received jane, no number', 'jane'],
    ['in quotes, as JSON', String.raw`received "a\"b"`, 'a"b'],
    ['that is a number', 'expected more than 4711', 4711],
    ['that is a long number', 'not 9007199254740993!', 9_007_199_254_740_993n],
    ['that is nested in the value', 'received jane', { people: [{ name: 'jane' }] }],
    ['that is a whole word only at its second occurrence', 'janet is not jane', 'jane'],
  ])('returns true for a text or number %s', (_, message, value) => {
    expect(quotesPayload(message, value)).toBe(true);
  });

  it.each<[string, string, unknown]>([
    ['a part of a word', 'expected a number', 'x'],
    ['a part of another number', 'no more than 4711', 47],
    ['a literal such as true or null', 'is true or null', [true, null, undefined]],
    ['an empty text', 'is empty', ''],
    ['the name of a field', 'name: is not valid', { name: 'jane' }],
    ['bytes', 'expected 1 of 2', Buffer.from([1, 2])],
  ])('returns false for %s', (_, message, value) => {
    expect(quotesPayload(message, value)).toBe(false);
  });

  it('compares text at any depth, even in a value that contains itself', () => {
    let deep: unknown = 'jane';
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(quotesPayload('received jane', deep)).toBe(true);
    const itself: unknown[] = ['jane'];
    itself.push(itself);
    expect(quotesPayload('received joe', itself)).toBe(false);
  });
});
