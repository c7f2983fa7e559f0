import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const complaints = (properties: object) => complaintsOf(() => resolvedOrders(properties));

describe('STRICT_PROCESSING', () => {
  it('refuses STRICT ordering if processing keeps no order', () => {
    const strict = { orderingMode: 'STRICT' };
    expect(complaints({ ...strict, processing: { by: 'none' } })).toEqual([
      "STRICT_PROCESSING bindings.orders.processing.by: keeps no order at all, which STRICT asks for: processing.by is 'none' (from the options), orderingMode is 'STRICT' (from the options). Set processing.by to 'key' or 'partition', or orderingMode to 'RELAXED_IN_RETRY'.",
    ]);
    expect(complaints({ ...strict, processing: { by: 'key' } })).toEqual([]);
    expect(complaints({ processing: { by: 'none' } })).toEqual([]);
  });
});

describe('STRICT_COMMITS', () => {
  const refusal = (strict: string, by: string): string =>
    `STRICT_COMMITS bindings.orders.commit.strict: lets no record start before the completed ones are committed, but records do not wait for each other here: commit.strict is true (from ${strict}), processing.by is 'none' (from ${by}). Set commit.strict to false for this binding, or processing.by to 'partition' or, if only records with the same key have to wait, to 'key'.`;
  const strict = { commit: { strict: true } };
  const byNone = { processing: { by: 'none' } } as const;

  it('refuses strict commits if records do not wait for each other', () => {
    expect(complaints({ ...strict, ...byNone })).toEqual([refusal('the options', 'the options')]);
    expect(complaints({ ...strict, processing: { by: 'key' } })).toEqual([]);
    expect(complaints({ ...strict, processing: { by: 'partition' } })).toEqual([]);
    expect(complaints(strict)).toEqual([]);
    expect(complaints(byNone)).toEqual([]);
  });

  it('refuses a strict commit from the defaults until the binding itself overrides it', () => {
    const all = 'the defaults of the options';
    const within = (properties: object, defaults: object) =>
      complaintsOf(() => resolvedOrders(properties, { defaults }));
    expect(within(byNone, strict)).toEqual([refusal(all, 'the options')]);
    expect(within(strict, byNone)).toEqual([refusal('the options', all)]);
    expect(within({ ...byNone, commit: { strict: false } }, strict)).toEqual([]);
  });
});

describe('BATCH_PROCESSING', () => {
  it.each(['key', 'none'])('refuses a BATCH listener with processing by %s', (by) => {
    expect(complaints({ listenerType: 'BATCH', processing: { by } })).toEqual([
      `BATCH_PROCESSING bindings.orders.processing.by: splits the slices of a partition, which a BATCH listener handles as a whole: processing.by is '${by}' (from the options), listenerType is 'BATCH' (from the options). Set processing.by to 'partition', or let the handler take single records: @EventHandler and listenerType 'SINGLE'.`,
    ]);
    expect(complaints({ listenerType: 'BATCH', processing: { by: 'partition' } })).toEqual([]);
  });
});

describe('PROCESSING', () => {
  it('refuses a concurrency without effect', () => {
    const refused =
      "PROCESSING bindings.orders.processing.maxConcurrency: has no effect while processing.by is 'partition': each partition has one handler at a time. Set processing.by to 'key' (order per key) or 'none', or leave it out.";
    expect(complaints({ processing: { maxConcurrency: 8 } })).toEqual([refused]);
    expect(complaints({ processing: { by: 'partition', maxConcurrency: 8 } })).toEqual([refused]);
    expect(complaints({ processing: { by: 'key', maxConcurrency: 8 } })).toEqual([]);
    expect(complaints({ processing: { by: 'partition' } })).toEqual([]);
  });

  it('lets a binding choose processing by partition regardless of common options', () => {
    const defaults = { processing: { by: 'key', maxConcurrency: 8 } } as const;
    const properties = { processing: { by: 'partition' } } as const;
    expect(complaintsOf(() => resolvedOrders(properties, { defaults }))).toEqual([]);
  });

  it.each([0, 10_001, 2.5])('refuses the concurrency %s', (maxConcurrency) => {
    expect(complaints({ processing: { by: 'none', maxConcurrency } })).toEqual([
      `NUMBER bindings.orders.processing.maxConcurrency: must be a whole number from 1 to 10000; got ${maxConcurrency}.`,
    ]);
  });
});
