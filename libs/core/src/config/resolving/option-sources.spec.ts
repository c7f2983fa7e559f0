import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { complaintsOf, orders } from '../configuration.spec-support.js';
import { resolveOptions, type OptionLayers } from './resolve-options.js';

const binding = { topic: 'orders.events', groupId: 'order-service' };

const complaints = (options: object, layers: OptionLayers = {}) =>
  complaintsOf(() => resolveOptions(options, layers));

describe('The options of a feature', () => {
  const source = 'forFeature in OrdersModule';
  const feature = { source, options: { bindings: { orders: binding } } };

  it('add its bindings', () => {
    const { bindings } = resolveOptions({ brokers: 'a:1' }, { features: [feature] });
    expect(bindings.map(({ name }) => name)).toEqual(['orders']);
  });

  it('cannot configure a binding that is already configured', () => {
    expect(complaints(orders(), { features: [feature] })).toContain(
      'DUPLICATE_BINDING bindings.orders: is configured twice, by the options and by forFeature in OrdersModule. Configure it once, or rename one of the two.',
    );
  });

  it.each([
    [undefined, 'OBJECT', ': must be a plain object; got undefined.'],
    ['orders', 'OBJECT', ": must be a plain object; got 'orders'."],
    [
      {},
      'FEATURE_WITHOUT_BINDINGS',
      ': brings no bindings. Give it { bindings: { name: { topic, groupId } } }.',
    ],
    [
      { bindings: [] },
      'OBJECT',
      '.bindings: must be a plain object with one entry per name; got an empty list.',
    ],
    [
      { bindings: {}, binding: {} },
      'UNKNOWN_KEY',
      ".binding: there is no option 'binding' here. Did you mean 'bindings'?",
    ],
  ])('are validated like the options: %j is %s', (options, rule, message) => {
    const features = [{ source, options: options as never }];
    expect(complaints(orders(), { features })).toEqual([
      `${rule} forFeature in OrdersModule${message}`,
    ]);
  });
});

describe('The options of a decorator', () => {
  it('may define a binding or add to one; an unknown binding is left to discovery', () => {
    const handlers = [
      { binding: 'orders', source: '@A', properties: { concurrency: 2 } },
      { binding: 'fresh', source: '@B', properties: { topic: 'fresh', groupId: 'g' } },
      { binding: 'stranger', source: '@C', properties: {} },
    ];
    const { bindings } = resolveOptions(orders(), { handlers });
    expect(bindings.map(({ name, concurrency }) => [name, concurrency])).toEqual([
      ['orders', 2],
      ['fresh', 1],
    ]);
  });

  describe('on a batch handler', () => {
    const handlers = [
      { binding: 'orders', source: '@A', form: 'slice', properties: { concurrency: 2 } },
    ] as const;
    const single = { listenerType: 'SINGLE' } as const;

    it('make its binding a BATCH listener, with the defaults of one', () => {
      const batchOptions = { batchFailureStrategy: 'DLQ_AND_CONTINUE' };
      const { bindings, ineffective } = resolveOptions(
        orders({ ...batchOptions, retry: { tiers: [] } }),
        {
          handlers,
        },
      );
      expect(bindings).toMatchObject([
        { ...batchOptions, listenerType: 'BATCH', maxPollRecords: 200, concurrency: 2 },
      ]);
      expect(ineffective).toEqual([]);
    });

    it('override the listener type in the defaults of all bindings', () => {
      const options = orders({}, { defaults: single });
      expect(resolveOptions(options, { handlers }).bindings).toMatchObject([
        { listenerType: 'BATCH' },
      ]);
    });

    it.each([
      ['the options', orders(single), handlers, 'bindings.orders'],
      ['its own options', orders(), [{ ...handlers[0], properties: single }], '@A (orders)'],
    ])('cannot be combined with single records set by %s', (_, options, refused, path) => {
      expect(complaints(options, { handlers: refused })).toEqual([
        `LISTENER_TYPE ${path}.listenerType: must be 'BATCH', since @EventHandler.Batch on @A takes whole slices; got 'SINGLE'. Leave it out, or use @EventHandler for single records.`,
      ]);
    });

    it('are named in the violation if another option conflicts with them', () => {
      expect(complaints(orders({ processing: { by: 'key' } }), { handlers })).toEqual([
        expect.stringContaining("listenerType is 'BATCH' (from @EventHandler.Batch on @A)"),
      ]);
    });
  });
});

describe('The options of two decorators of one binding', () => {
  const handlers = (first: object, second: object) => [
    { binding: 'orders', source: '@A', properties: first },
    { binding: 'orders', source: '@B', properties: second },
  ];

  it('may complete each other or be equal', () => {
    const layers = {
      handlers: handlers(
        { concurrency: 2, retry: { tiers: [] } },
        { retry: { tiers: [] }, ackMode: 'MANUAL' },
      ),
    };
    expect(resolveOptions(orders(), layers).bindings[0]).toMatchObject({
      concurrency: 2,
      ackMode: 'MANUAL',
    });
  });

  it('must not contradict each other', () => {
    expect(
      complaints(orders(), { handlers: handlers({ concurrency: 2 }, { concurrency: 3 }) }),
    ).toEqual([
      'HANDLERS_DISAGREE bindings.orders.concurrency: is set to different values by @A and by @B, which share the binding. Set it once, or in the options.',
    ]);
  });
});

describe('The options of a loader', () => {
  const loaded = {
    source: 'environment',
    options: { bindings: { orders: { ...binding, concurrency: 'x' } } } as never,
    unused: [{ source: 'environment', key: 'EVENTBUS_FOO', reason: 'no option has this name' }],
  };

  it('are named by the loader in the path of a violation', () => {
    expect(complaints({ brokers: 'a:1' }, { loaders: [loaded] })).toEqual([
      "NUMBER environment.bindings.orders.concurrency: must be a whole number from 1 to 1000; got 'x'.",
    ]);
  });

  it('may be listed in `loaders`, and unused keys are handed on', () => {
    const good = { ...loaded, options: { bindings: { orders: binding } } };
    const { bindings, unusedKeys } = resolveOptions({ brokers: 'a:1', loaders: [good] });
    expect(bindings.map(({ name }) => name)).toEqual(['orders']);
    expect(unusedKeys).toEqual(loaded.unused);
  });

  it('are refused if they were not made by a loader', () => {
    expect(complaints({ brokers: 'a:1', loaders: [{}] })[0]).toBe(
      'REFERENCE loaders: must be a list of what loaders gave, such as [fromEnvironment(process.env)]; got a list.',
    );
  });

  it.each([
    ['runtime', new VirtualRuntime(), 'the bus needs its clock before it reads a loader'],
    ['loaders', [], 'a loader cannot add other loaders'],
  ])('cannot set %s', (key, value, why) => {
    const given = { source: 'properties', options: { [key]: value }, unused: [] };
    expect(complaints({ brokers: 'a:1', loaders: [given] })).toEqual([
      `OPTIONS_ONLY properties.${key}: has no effect here: ${why}. Give it in the options of the module itself.`,
    ]);
  });
});
