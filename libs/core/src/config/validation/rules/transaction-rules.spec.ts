import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const complaints = (properties: object, options: object = {}) =>
  complaintsOf(() => resolvedOrders(properties, options));
const transactions = { enabled: true };

describe('TRANSACTION_PROCESSING', () => {
  it.each(['key', 'none'])(
    'refuses processing that lets records overtake each other: by %s',
    (by) => {
      expect(complaints({ transactions, processing: { by } })).toEqual([
        `TRANSACTION_PROCESSING bindings.orders.processing.by: lets records overtake each other, but the offset that a transaction commits means that all records before it are done: processing.by is '${by}' (from the options), transactions.enabled is true (from the options). Set processing.by to 'partition', or do without transactions.`,
      ]);
      expect(complaints({ processing: { by } })).toEqual([]);
      expect(complaints({ transactions, processing: { by: 'partition' } })).toEqual([]);
    },
  );
});

describe('TRANSACTION_ACK', () => {
  it('refuses manual acknowledgement by the handler', () => {
    expect(complaints({ transactions, ack: 'manual' })).toEqual([
      "TRANSACTION_ACK bindings.orders.ack: leaves it to the handler when its record is done, but a transaction decides that when it is committed: ack is 'manual' (from the options), transactions.enabled is true (from the options). Set ack to 'auto', or do without transactions.",
    ]);
    expect(complaints({ ack: 'manual' })).toEqual([]);
  });
});

describe('The option transactions', () => {
  it('refuses an id prefix without effect', () => {
    const refused =
      'TRANSACTIONS bindings.orders.transactions.idPrefix: has no effect while transactions.enabled is false. Set it to true, or leave the prefix out.';
    expect(complaints({ transactions: { idPrefix: 'one-' } })).toEqual([refused]);
    expect(complaints({ transactions: { enabled: false, idPrefix: 'one-' } })).toEqual([refused]);
    expect(complaints({ transactions: { enabled: true, idPrefix: 'one-' } })).toEqual([]);
  });

  it('can be disabled against the defaults, whatever prefix they set', () => {
    const defaults = { transactions: { enabled: true, idPrefix: 'one-' } };
    expect(complaints({ transactions: { enabled: false } }, { defaults })).toEqual([]);
  });

  it.each([
    ['', ''],
    ['a b', 'a b'],
    ['ä', 'ä'],
    ['x'.repeat(101), `${'x'.repeat(60)}…`],
  ])('refuses the id prefix %j', (idPrefix, shown) => {
    expect(complaints({ transactions: { enabled: true, idPrefix } })).toEqual([
      `TEXT bindings.orders.transactions.idPrefix: must be 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-'; got '${shown}'.`,
    ]);
  });
});
