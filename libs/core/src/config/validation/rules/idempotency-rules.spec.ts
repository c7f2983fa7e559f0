import type { IdempotencyStore } from '../../../model/extension-points/idempotency-store.js';
import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const store: IdempotencyStore = {
  claim: () => 'new',
  complete: () => undefined,
  release: () => undefined,
};
const complaints = (idempotency: object, properties: object = {}, options: object = {}) =>
  complaintsOf(() => resolvedOrders({ idempotency, ...properties }, options));
const idempotencyOf = (given: object, options: object = {}) =>
  resolvedOrders({ idempotency: given }, options).idempotency;

describe('The option idempotency', () => {
  it('passes the store by reference, neither copied nor frozen', () => {
    expect(idempotencyOf({ store }).store).toBe(store);
    expect(Object.isFrozen(store)).toBe(false);
  });

  it('takes every key from the highest layer, also beside a function', () => {
    const options = { defaults: { idempotency: { store, ttlMs: '7d', leaseMs: '2m' } } };
    const byId = () => 'id';
    expect(idempotencyOf({ key: byId, leaseMs: '3m' }, options)).toEqual({
      store,
      key: { of: byId },
      ttlMs: 604_800_000,
      leaseMs: 180_000,
      timeoutMs: 5_000,
      onStoreFailure: 'fail',
    });
  });

  it.each(['position', { header: 'message-id' }])('passes the key %j unchanged', (key) => {
    expect(idempotencyOf({ store, key }).key).toEqual(key);
  });

  it.each([
    [
      { store: {} },
      "REFERENCE bindings.orders.idempotency.store: must be 'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore(); got an object.",
    ],
    [
      { store: 'memory' },
      "REFERENCE bindings.orders.idempotency.store: must be 'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore(); got 'memory'.",
    ],
    [
      { store: { claim: () => 0 } },
      "REFERENCE bindings.orders.idempotency.store: must be 'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore(); got an object.",
    ],
    [
      { store, key: 'offset' },
      "REFERENCE bindings.orders.idempotency.key: must be 'position', { header: 'its-name' } or a function of the record; got 'offset'.",
    ],
    [
      { store, key: { header: '' } },
      "REFERENCE bindings.orders.idempotency.key: must be 'position', { header: 'its-name' } or a function of the record; got an object.",
    ],
    [
      { store, key: { header: 'a', of: 'b' } },
      "REFERENCE bindings.orders.idempotency.key: must be 'position', { header: 'its-name' } or a function of the record; got an object.",
    ],
    [
      { store, ttlMs: 0 },
      'DURATION bindings.orders.idempotency.ttlMs: must be a duration of at least 1 ms; got 0.',
    ],
    [
      { store, timeoutMs: 0 },
      'DURATION bindings.orders.idempotency.timeoutMs: must be a duration of at least 1 ms; got 0.',
    ],
    [
      { store, onStoreFailure: 'skip' },
      "CHOICE bindings.orders.idempotency.onStoreFailure: must be one of 'fail', 'process'; got 'skip'.",
    ],
    [
      { store, lease: 1 },
      "UNKNOWN_KEY bindings.orders.idempotency.lease: there is no option 'lease' here. Did you mean 'leaseMs'?",
    ],
  ])('refuses %j', (given, message) => {
    expect(complaints(given)).toEqual([message]);
  });

  it('is refused without a store, because it would have no effect', () => {
    expect(complaints({ ttlMs: '1h' })).toEqual([
      'REQUIRED bindings.orders.idempotency.store: is missing: idempotency.ttlMs (from the options) has no effect without one. Add store: memoryIdempotencyStore(), or a store that all processes share.',
    ]);
    expect(complaints({})).toEqual([]);
  });

  it('can be disabled for a binding, whatever the defaults set', () => {
    const options = { defaults: { idempotency: { store, ttlMs: '7d' } } };
    expect(complaints({ store: 'none' }, {}, options)).toEqual([]);
  });
});

describe('IDEMPOTENCY_LEASE', () => {
  const slow = { expectedProcessingMs: '10s', maxPollRecords: 1 };

  it('refuses a lease that is shorter than all calls of a record', () => {
    expect(complaints({ store, leaseMs: '30s' }, slow)).toEqual([
      'IDEMPOTENCY_LEASE bindings.orders.idempotency.leaseMs: must be longer than one record may take with all its calls and waits (30300 ms), or another consumer could begin it meanwhile: idempotency.leaseMs is 30000 (from the options). Raise it to more than 30300, or retry less often or with shorter waits.',
    ]);
    expect(complaints({ store, leaseMs: 30_300 }, slow)).toHaveLength(1);
    expect(complaints({ store, leaseMs: 30_301 }, slow)).toEqual([]);
  });

  it('refuses a lease that is shorter than a slice, because a batch handler claims all its records', () => {
    const batch = { listenerType: 'BATCH', expectedProcessingMs: 500, maxPollRecords: 200 };
    expect(complaints({ store }, batch)).toEqual([
      "IDEMPOTENCY_LEASE bindings.orders.idempotency.leaseMs: must be longer than a slice of 200 records may take, since all of them are claimed before the handler is called (100000 ms), or another consumer could begin it meanwhile: idempotency.leaseMs is 60000 (from the library's defaults). Raise it to more than 100000, or lower maxPollRecords.",
    ]);
    expect(complaints({ store, leaseMs: 100_001 }, batch)).toEqual([]);
    expect(complaints({ store }, { ...batch, listenerType: 'SINGLE' })).toEqual([]);
  });

  it('ignores a lease that is not used', () => {
    expect(complaints({}, { expectedProcessingMs: '2m', maxPollRecords: 1 })).toEqual([]);
  });
});
