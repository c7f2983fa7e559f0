import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const complaints = (properties: object) => complaintsOf(() => resolvedOrders(properties));

describe('STRICT_PROCESSING', () => {
  it('refuses STRICT ordering without any order', () => {
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
    `STRICT_COMMITS bindings.orders.commit.strict: lets nothing begin before what is done is committed, but no record waits for another one here: commit.strict is true (from ${strict}), processing.by is 'none' (from ${by}). Set commit.strict to false for this binding, or processing.by to 'partition' or, where it is enough that those of a key wait, 'key'.`;
  const strict = { commit: { strict: true } };
  const byNone = { processing: { by: 'none' } } as const;

  it('refuses strict commits where no record waits for another one', () => {
    expect(complaints({ ...strict, ...byNone })).toEqual([refusal('the options', 'the options')]);
    expect(complaints({ ...strict, processing: { by: 'key' } })).toEqual([]);
    expect(complaints({ ...strict, processing: { by: 'partition' } })).toEqual([]);
    expect(complaints(strict)).toEqual([]);
    expect(complaints(byNone)).toEqual([]);
  });

  it('takes what all bindings promise from none of them silently: the binding itself says so', () => {
    const all = 'the defaults of the options';
    const within = (properties: object, defaults: object) =>
      complaintsOf(() => resolvedOrders(properties, { defaults }));
    expect(within(byNone, strict)).toEqual([refusal(all, 'the options')]);
    expect(within(strict, byNone)).toEqual([refusal('the options', all)]);
    expect(within({ ...byNone, commit: { strict: false } }, strict)).toEqual([]);
  });
});

describe('BATCH_PROCESSING', () => {
  it.each(['key', 'none'])('refuses a BATCH listener by %s', (by) => {
    expect(complaints({ listenerType: 'BATCH', processing: { by } })).toEqual([
      `BATCH_PROCESSING bindings.orders.processing.by: takes slices of a partition apart, which a BATCH listener works through as a whole: processing.by is '${by}' (from the options), listenerType is 'BATCH' (from the options). Set processing.by to 'partition', or let the handler take single records: @EventHandler and listenerType 'SINGLE'.`,
    ]);
    expect(complaints({ listenerType: 'BATCH', processing: { by: 'partition' } })).toEqual([]);
  });
});

describe('PROCESSING', () => {
  it('refuses a concurrency that has no effect', () => {
    const refused =
      "PROCESSING bindings.orders.processing.maxConcurrency: has no effect while processing.by is 'partition': each partition has one handler at a time. Set processing.by to 'key' (order per key) or 'none', or leave it out.";
    expect(complaints({ processing: { maxConcurrency: 8 } })).toEqual([refused]);
    expect(complaints({ processing: { by: 'partition', maxConcurrency: 8 } })).toEqual([refused]);
    expect(complaints({ processing: { by: 'key', maxConcurrency: 8 } })).toEqual([]);
    expect(complaints({ processing: { by: 'partition' } })).toEqual([]);
  });

  it('lets a binding choose the order of its partition whatever all bindings have in common', () => {
    const defaults = { processing: { by: 'key', maxConcurrency: 8 } } as const;
    const properties = { processing: { by: 'partition' } } as const;
    expect(complaintsOf(() => resolvedOrders(properties, { defaults }))).toEqual([]);
  });

  it.each([0, 10_001, 2.5])('wants a concurrency that can be: not %s', (maxConcurrency) => {
    expect(complaints({ processing: { by: 'none', maxConcurrency } })).toEqual([
      `NUMBER bindings.orders.processing.maxConcurrency: must be a whole number from 1 to 10000; got ${maxConcurrency}.`,
    ]);
  });
});
