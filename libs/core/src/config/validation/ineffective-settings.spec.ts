import { complaintsOf, orders, resolvedOrders } from '../configuration.spec-support.js';
import { resolveOptions, type OptionLayers } from '../resolving/resolve-options.js';

const naming = {
  retryTopic: (topic: string, tier: number) => `retry-of.${topic}.${tier}`,
  deadLetterTopic: (topic: string) => `dead.${topic}`,
};
const redact = () => ({ message: 'hidden' });
const complaints = (...given: Parameters<typeof resolvedOrders>) =>
  complaintsOf(() => resolvedOrders(...given));
const warnings = (properties: object, options: object = {}, layers: OptionLayers = {}) =>
  resolveOptions(orders(properties, options), layers).ineffective;

/** Rows: key, properties, message, and the change that gives the option an effect. */
const MISTAKES: readonly (readonly [string, object, string, object])[] = [
  [
    'strictExhaustion',
    { strictExhaustion: 'PAUSE_PARTITION' },
    "orderingMode is not 'STRICT': set it to 'STRICT', or leave strictExhaustion out.",
    { orderingMode: 'STRICT' },
  ],
  [
    'groupInstanceId',
    { groupInstanceId: 'shop-{index}' },
    'staticMembership is false: set it to true, or leave groupInstanceId out.',
    { staticMembership: true },
  ],
  [
    'dlt.topicSuffix',
    { dlt: { topicSuffix: 'dead', topic: 'graveyard' } },
    'dlt.topic is the whole name: leave one of them out.',
    { dlt: { topicSuffix: 'dead' } },
  ],
  [
    'dlt.topicSuffix',
    { dlt: { topicSuffix: 'dead' }, naming },
    'naming names the topics: leave the suffix out, or the strategy.',
    { naming: undefined },
  ],
  [
    'retry.tiers[0].topicSuffix',
    { retry: { tiers: [{ topicSuffix: 'soon-{n}' }, {}] }, naming },
    'naming names the topics: leave the suffix out, or the strategy.',
    { naming: undefined },
  ],
];

const BATCH = { listenerType: 'BATCH' };
const WARNINGS: readonly (readonly [string, object, string, object])[] = [
  [
    'dlt.redact',
    { dlt: { redact, exceptionDetail: 'class' } },
    "dlt.exceptionDetail is 'class', which writes nothing that could be redacted: leave one of them out.",
    { dlt: { redact } },
  ],
  [
    'strictExhaustion',
    { strictExhaustion: 'PAUSE_PARTITION', orderingMode: 'RELAXED_IN_RETRY' },
    "orderingMode is not 'STRICT': set it to 'STRICT', or leave strictExhaustion out.",
    { orderingMode: 'STRICT' },
  ],
  [
    'groupInstanceId',
    { groupInstanceId: 'shop-{index}', staticMembership: false },
    'staticMembership is false: set it to true, or leave groupInstanceId out.',
    { staticMembership: true },
  ],
  [
    'batchFailureStrategy',
    { batchFailureStrategy: 'DLQ_AND_CONTINUE' },
    'the listener takes single records: it is for BATCH listeners.',
    BATCH,
  ],
  [
    'batchRedeliveries',
    { batchRedeliveries: 4 },
    'the listener takes single records: it is for BATCH listeners.',
    BATCH,
  ],
  [
    'batchRedeliveries',
    { ...BATCH, batchFailureStrategy: 'DLQ_AND_CONTINUE', batchRedeliveries: 4 },
    "batchFailureStrategy is not 'SEEK_TO_FAILED'.",
    { batchFailureStrategy: 'SEEK_TO_FAILED' },
  ],
  [
    'retry.tiers',
    { ...BATCH, batchFailureStrategy: 'DLQ_AND_CONTINUE', retry: { tiers: [{}] } },
    "batchFailureStrategy is 'DLQ_AND_CONTINUE', which writes what failed to the dead-letter topic at once.",
    { batchFailureStrategy: 'SEEK_TO_FAILED' },
  ],
  ...[
    'partitions',
    'retentionDays',
    'replicationFactor',
    'retry.partitions',
    'retry.retentionDays',
    'dlt.partitions',
    'dlt.retentionDays',
  ].map((key) => {
    const [first = '', second] = key.split('.');
    const topics = { [first]: second ? { [second]: 1 } : 1 };
    const why = "provisioning is not 'create': no topic is created.";
    return [`topics.${key}`, { topics }, why, { provisioning: 'create' }] as const;
  }),
  [
    'typedJson.trustedPackages',
    { typedJson: { trustedPackages: ['com.shop'] } },
    "deserializer is not 'typed-json'.",
    { typedJson: { types: { 'com.shop.Order': class {} } } },
  ],
  [
    'typedJson.types',
    { deserializer: 'text', typedJson: { types: { 'com.shop.Order': class {} } } },
    "deserializer is not 'typed-json'.",
    { deserializer: 'typed-json' },
  ],
];

describe('An option without effect because of another option', () => {
  it.each(MISTAKES)('%s is refused: %j', (key, given, why, remedy) => {
    expect(complaints(given)).toEqual([`NO_EFFECT bindings.orders.${key}: has no effect: ${why}`]);
    expect(complaints({ ...given, ...remedy })).toEqual([]);
  });

  it.each(WARNINGS)('%s causes a warning: %j', (key, given, why, remedy) => {
    expect(warnings(given)).toEqual([`bindings.orders.${key} (the options) has no effect: ${why}`]);
    expect(warnings({ ...given, ...remedy })).toEqual([]);
  });

  it.each([...MISTAKES, ...WARNINGS].filter(([key]) => !key.startsWith('retry.tiers')))(
    'is not reported if it is a common default of all bindings: %s',
    (_, given) => {
      expect(complaints({}, { defaults: given })).toEqual([]);
      const reported = warnings({}, { defaults: given }).filter(
        (line) => !line.includes('trusted'),
      );
      expect(reported).toEqual([]);
    },
  );

  it('is not reported if it has the default value', () => {
    const usual = {
      strictExhaustion: 'DLT',
      batchFailureStrategy: 'SEEK_TO_FAILED',
      topics: { partitions: 0 },
      retry: { tiers: [{ topicSuffix: 'retry-{n}' }] },
      naming,
    };
    expect(warnings(usual)).toEqual([]);
  });

  it('is not reported if code sets both options and an environment changes one', () => {
    const properties = { strictExhaustion: 'PAUSE_PARTITION', orderingMode: 'STRICT' } as const;
    const handlers = [{ binding: 'orders', source: '@EventHandler on Orders.on', properties }];
    const relaxed = { orderingMode: 'RELAXED_IN_RETRY' } as const;
    expect(complaints(relaxed, {}, { handlers })).toEqual([]);
    expect(complaints({}, {}, { handlers })).toEqual([]);
  });

  it('causes a warning if the naming strategy is one for all bindings', () => {
    const loaders = [{ defaults: { naming } }];
    const rest = 'has no effect: naming names the topics: leave the suffix out, or the strategy.';
    const given = { dlt: { topicSuffix: 'dead' }, retry: { tiers: [{ topicSuffix: 'soon' }] } };
    expect(warnings(given, {}, { loaders })).toEqual([
      `bindings.orders.dlt.topicSuffix (the options) ${rest}`,
      `bindings.orders.retry.tiers[0].topicSuffix (the options) ${rest}`,
    ]);
  });

  it('causes one warning if all bindings trust packages that none of them reads', () => {
    const defaults = { typedJson: { trustedPackages: ['com.shop.*'] } };
    const types = { 'com.shop.Order': class {} };
    const bindings = { other: { topic: 'other', groupId: 'other' } };
    const warningsOf = (loaders: object[], typedJson?: object) =>
      resolveOptions(
        { brokers: 'a:1', bindings: { ...bindings, ...orders({ typedJson }).bindings } },
        { loaders },
      ).ineffective;
    expect(warningsOf([{ defaults }])).toEqual([
      'loaders[0].defaults.typedJson.trustedPackages has no effect: no binding reads typed JSON. Register classes in typedJson.types.',
    ]);
    expect(warningsOf([{ defaults }], { types })).toEqual([]);
    expect(warningsOf([])).toEqual([]);
  });

  it('is not reported if its own value is invalid', () => {
    const complained = complaints({ groupInstanceId: 'shop' });
    expect(complained).toHaveLength(1);
    expect(complained[0]).toMatch(/^TEXT bindings\.orders\.groupInstanceId: must be /);
  });
});
