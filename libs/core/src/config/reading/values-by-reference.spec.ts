import { orders } from '../configuration.spec-support.js';
import { resolveOptions } from '../resolving/resolve-options.js';

describe('An object of the caller', () => {
  class NotFound extends Error {}

  it('is passed by reference, not copied, if it is a class, a function, a driver or a runtime', () => {
    const matches = (error: Error) => error.message === 'x';
    const driver = new (class MyDriver {
      buffer = Buffer.from('x');
      consumer() {}
      producer() {}
      admin() {}
      close() {}
    })();
    const runtime = Object.fromEntries(
      ['now', 'monotonic', 'setTimer', 'defer', 'random', 'uuid', 'hostname'].map((name) => [
        name,
        () => 0,
      ]),
    );
    const retry = {
      retryableExceptions: [NotFound, { matches }],
      skipToTierMapping: [{ match: TypeError, tier: 2 }],
    };
    const options = orders({ retry }, { brokers: undefined, driver, runtime });
    const { bindings, clusters, runtime: resolved } = resolveOptions(options);
    expect(clusters['default']?.driver).toBe(driver);
    expect(resolved).toBe(runtime);
    expect(bindings[0]?.retry.retryableExceptions[0]).toBe(NotFound);
    expect(bindings[0]?.retry.retryableExceptions[1]).toEqual({ matches });
    expect(bindings[0]?.retry.skipToTierMapping[0]?.match).toBe(TypeError);
  });

  it('is passed by reference, not copied, if it contains TLS or SASL settings', () => {
    const ca = Buffer.from('certificate');
    const ssl = { ca: [ca], checkServerIdentity: () => undefined };
    const oauthBearerProvider = async () => ({ value: 't' });
    const sasl = { mechanism: 'oauthbearer', oauthBearerProvider } as const;
    const given = { clusters: { default: { brokers: ['a:1'], ssl, sasl } } };
    const { clusters } = resolveOptions(given);
    expect(clusters['default']?.ssl).toBe(ssl);
    expect(clusters['default']?.sasl).toBe(sasl);
    expect(Object.isFrozen(ssl)).toBe(false);
    expect(Object.isFrozen(sasl)).toBe(false);
  });

  it('is neither changed nor frozen', () => {
    const given = orders({
      retry: { tiers: [{ delayMs: '10s' }], retryableExceptions: [{ code: 'E1' }] },
      maxPollIntervalMs: '10m',
    });
    const before = structuredClone(given);
    resolveOptions(given);
    expect(given).toEqual(before);
    const orderBinding = given.bindings?.['orders'];
    expect(Object.isFrozen(orderBinding)).toBe(false);
    expect(Object.isFrozen(orderBinding?.retry?.tiers)).toBe(false);
    expect(Object.isFrozen(orderBinding?.retry?.retryableExceptions?.[0])).toBe(false);
  });

  it('is accepted if the caller has frozen it', () => {
    const given = Object.freeze(orders(Object.freeze({ retry: Object.freeze({ tiers: [] }) })));
    expect(resolveOptions(given).bindings[0]?.retry.tiers).toEqual([]);
  });
});
