import { resolvedOrders } from '../configuration.spec-support.js';

describe('The layers of a binding', () => {
  const concurrency = (value: number) => ({ concurrency: value });
  const LAYERS: readonly (readonly [string, Parameters<typeof resolvedOrders>, number])[] = [
    ['the library', [{}, {}], 1],
    ['the preset of the application', [{}, { defaults: { preset: 'brokers' } }], 3],
    ['the preset of the binding', [{ preset: 'brokers' }, { defaults: { preset: 'strategy' } }], 3],
    [
      'the defaults of a loader',
      [{ preset: 'brokers' }, {}, { loaders: [{ defaults: concurrency(10) }] }],
      10,
    ],
    [
      'the defaults of the options, even before the preset of the binding',
      [
        { preset: 'brokers' },
        { defaults: concurrency(11) },
        { loaders: [{ defaults: concurrency(10) }] },
      ],
      11,
    ],
    [
      'a decorator',
      [
        {},
        { defaults: concurrency(11) },
        { handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }] },
      ],
      12,
    ],
    [
      'the binding of a loader',
      [
        {},
        { defaults: concurrency(11) },
        {
          handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }],
          loaders: [{ bindings: { orders: concurrency(13) as never } }],
        },
      ],
      13,
    ],
    [
      'the binding of the options',
      [
        concurrency(14),
        { defaults: concurrency(11) },
        {
          handlers: [{ binding: 'orders', source: '@H', properties: concurrency(12) }],
          loaders: [{ bindings: { orders: concurrency(13) as never } }],
        },
      ],
      14,
    ],
  ];

  it.each(LAYERS)('override each other in this order: %s', (_, given, expected) => {
    expect(resolvedOrders(...given).concurrency).toBe(expected);
  });

  it('are merged key by key inside a section, but a list replaces a list as a whole', () => {
    const binding = resolvedOrders(
      { retry: { tier0: { maxAttempts: 4 }, tiers: [{ delayMs: '2s' }] } },
      {
        defaults: {
          retry: { tier0: { maxAttempts: 9, initialBackoffMs: 300 }, tiers: [{}, {}] },
        },
      },
    );
    expect(binding.retry.tier0).toEqual({
      maxAttempts: 4,
      initialBackoffMs: 300,
      multiplier: 2,
      maxBackoffMs: 2_000,
      maxElapsedMs: 0,
      jitter: 'capped',
    });
    expect(binding.retry.tiers.map(({ delayMs }) => delayMs)).toEqual([2_000]);
  });

  it('take a value from the first of several loaders that set it', () => {
    const loaders = [{ defaults: {} }, { defaults: concurrency(5) }, { defaults: concurrency(6) }];
    expect(resolvedOrders({}, {}, { loaders }).concurrency).toBe(5);
  });
});
