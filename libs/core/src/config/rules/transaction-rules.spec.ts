import { complaintsOf, resolvedOrders } from '../configuration.spec-support.js';

const complaints = (properties: object, options: object = {}) =>
  complaintsOf(() => resolvedOrders(properties, options));
const transactions = { enabled: true };

describe('TRANSACTION_PROCESSING', () => {
  it.each(['key', 'none'])('refuses records that overtake each other: by %s', (by) => {
    expect(complaints({ transactions, processing: { by } })).toEqual([
      expect.stringMatching(
        /^TRANSACTION_PROCESSING bindings\.orders\.processing\.by: lets records overtake each other.* Set processing\.by to 'partition'/,
      ),
    ]);
    expect(complaints({ processing: { by } })).toEqual([]);
    expect(complaints({ transactions, processing: { by: 'partition' } })).toEqual([]);
  });
});

describe('TRANSACTION_ACK', () => {
  it('refuses a handler that says itself when its record is done', () => {
    expect(complaints({ transactions, ack: 'manual' })).toEqual([
      expect.stringMatching(/^TRANSACTION_ACK bindings\.orders\.ack: leaves it to the handler/),
    ]);
    expect(complaints({ ack: 'manual' })).toEqual([]);
  });
});

describe('TRANSACTIONS', () => {
  it('refuses a prefix that has no effect', () => {
    const refused = expect.stringMatching(
      /^TRANSACTIONS bindings\.orders\.transactions\.idPrefix: has no effect while/,
    );
    expect(complaints({ transactions: { idPrefix: 'one-' } })).toEqual([refused]);
    expect(complaints({ transactions: { enabled: false, idPrefix: 'one-' } })).toEqual([refused]);
    expect(complaints({ transactions: { enabled: true, idPrefix: 'one-' } })).toEqual([]);
  });

  it('may be switched off against the defaults, whatever prefix these have', () => {
    const defaults = { transactions: { enabled: true, idPrefix: 'one-' } };
    expect(complaints({ transactions: { enabled: false } }, { defaults })).toEqual([]);
  });

  it.each(['', 'a b', 'ä', 'x'.repeat(101)])(
    'wants a prefix that an id can have: not %j',
    (idPrefix) => {
      expect(complaints({ transactions: { enabled: true, idPrefix } })).toEqual([
        expect.stringContaining('bindings.orders.transactions.idPrefix: '),
      ]);
    },
  );
});
