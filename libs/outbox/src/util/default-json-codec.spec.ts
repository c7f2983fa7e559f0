import { JsonCodec } from './json-codec.js';

const codec = JsonCodec.getDefault();

describe('DefaultJsonCodec', () => {
  it('is one instance', () => {
    expect(JsonCodec.getDefault()).toBe(codec);
  });

  it('returns null for no headers, and an empty map for no text', () => {
    expect([codec.toJson(null), codec.toJson(new Map())]).toEqual([null, null]);
    for (const text of [null, undefined, '', 'null']) expect(codec.parseObject(text).size).toBe(0);
  });

  it('returns what it has encoded, with quotes, line breaks and any characters', () => {
    const headers = new Map([
      ['a"b\\', 'line\nbreak\u0000'],
      ['ü', '😀 '],
    ]);
    expect(codec.parseObject(codec.toJson(headers))).toEqual(headers);
  });

  it('refuses keys and values that are not text', () => {
    expect(() => codec.toJson(new Map([[null, 'x']]) as never)).toThrow(/not text/);
    expect(() => codec.toJson(new Map([['a', 1]]) as never)).toThrow(/not text/);
  });

  it.each(['{"a":{"b":"c"}}', '{"a":1}', '[]', '"text"', '{"a":', '1'])(
    'refuses %s, which is no flat object of texts',
    (text) => {
      expect(() => codec.parseObject(text)).toThrow(
        expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }),
      );
    },
  );
});
