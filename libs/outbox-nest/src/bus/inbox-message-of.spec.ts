import { inboxMessageOf } from './inbox-message-of.js';

const NAMES = { binding: 'orders', cluster: 'main', groupId: 'shop', dedupKey: 'orders-0-7' };

describe('inboxMessageOf', () => {
  const idOf = (...values: readonly (Buffer | string | null)[]): string => {
    const headers = values.map((value) => ({
      key: 'message-id',
      value: typeof value === 'string' ? Buffer.from(value) : value,
    }));
    const raw = { headers } as unknown as Parameters<typeof inboxMessageOf>[0]['raw'];
    return inboxMessageOf({ ...NAMES, raw }).messageId;
  };

  it('uses the last header message-id, or the position without one', () => {
    expect(idOf('old', 'm1')).toBe('id m1');
    expect([idOf(), idOf(''), idOf(null)]).toEqual(Array(3).fill('at orders-0-7'));
  });

  it('distinguishes ids of bytes that are not UTF-8', () => {
    const ids = [0x80, 0x81, 0xff].map((byte) => idOf(Buffer.from([byte])));
    expect(new Set(ids).size).toBe(3);
  });

  it.each(['x'.repeat(251), 'a\0b'])('uses a digest of an id that a database refuses', (text) => {
    expect(idOf(text)).toMatch(/^id-sha256 [0-9a-f]{64}$/);
    expect(idOf(text)).not.toBe(idOf(`${text}x`));
  });

  it('keeps an id of 250 characters', () => {
    expect(idOf('é'.repeat(250))).toBe(`id ${'é'.repeat(250)}`);
  });
});
