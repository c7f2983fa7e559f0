export const naming = {
  retryTopic: (topic: string, tier: number) => `retry-of.${topic}.${tier}`,
  deadLetterTopic: (topic: string) => `dead.${topic}`,
};
const redact = () => ({ message: 'hidden' });
export const REGISTRY = {
  url: 'http://registry:8081',
  auth: { username: 'me', password: 'secret' },
  headers: { authorization: 'secret' },
  timeoutMs: 100,
  cacheSize: 7,
};
const ONE_CALL = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };
const classifier = { classify: () => ({ routing: 'DEAD_LETTER' }) };
const CLASSIFIED: object = { classifier };
const tier0Of = (tier0: object) => ({ retry: { tier0 } });
const tierOf = (tier: object) => ({ retry: { tiers: [{ delayMs: '10s', ...tier }] } });

/**
 * Rows: key, properties, message, and a change of the properties that gives the option an effect.
 */
export const MISTAKES: readonly (readonly [string, object, string, object])[] = [
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
  [
    'dlt.handlerTimeoutMs',
    { dlt: { handlerTimeoutMs: '5s' } },
    "dlt.strategy calls no method: set it to 'ALERT_AND_STORE' or 'CUSTOM', or leave handlerTimeoutMs out.",
    { dlt: { handlerTimeoutMs: '5s', strategy: 'CUSTOM' } },
  ],
  [
    'stuckHandlerMs',
    { stuckHandlerMs: '10m' },
    "maxPollIntervalMs (600000) ends the handler's time first: lower stuckHandlerMs below it, or leave it out.",
    { stuckHandlerMs: 599_999 },
  ],
  [
    'rebalance.drainTimeoutMs',
    { rebalance: { drainTimeoutMs: 600_001 } },
    'the group goes on without a member that drains for longer than maxPollIntervalMs (600000): lower the drain time to that, or raise maxPollIntervalMs.',
    { rebalance: { drainTimeoutMs: 600_000 } },
  ],
  ...['auth', 'headers', 'timeoutMs', 'cacheSize'].map(
    (name) =>
      [
        `schemaRegistry.${name}`,
        { schemaRegistry: { [name]: REGISTRY[name as keyof typeof REGISTRY] } },
        "schemaRegistry.url is missing: add url: 'http://registry:8081', or leave schemaRegistry out.",
        { schemaRegistry: REGISTRY },
      ] as const,
  ),
  [
    'schemaVersion.from',
    { schemaVersion: { from: 'version' } },
    "schemaVersion.supported is empty: list the versions, supported: ['1'], or leave schemaVersion out.",
    { schemaVersion: { from: 'version', supported: ['1'] } },
  ],
];

const BATCH: object = { listenerType: 'BATCH' };
const STRICT: object = { orderingMode: 'STRICT' };
/** Reasons for which retry.onBudgetExceeded has no effect. */
const BUDGET_CAUSES: readonly (readonly [{ readonly retry?: object }, string])[] = [
  [{ retry: { tiers: [] } }, 'retry.tiers is empty: there is no next tier.'],
  [{ ...STRICT }, "orderingMode is 'STRICT', which has no retry topics."],
  [
    { retry: { mode: 'seek' } },
    "retry.mode is 'seek', whose waits the retry budget does not limit.",
  ],
  [
    { ...BATCH },
    'a BATCH listener waits between two deliveries, which the retry budget does not limit.',
  ],
  [
    { retry: { tier0: { maxAttempts: 1 } } },
    'retry.tier0.maxAttempts is 1: a single call is followed by no wait.',
  ],
  [{ ...CLASSIFIED }, 'classifier decides where such a record goes.'],
];

export const WARNINGS: readonly (readonly [string, object, string, object])[] = [
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
  ...Object.entries({
    failureRateThreshold: 30,
    slowCallRateThreshold: 30,
    slowCallDurationMs: 30,
    waitDurationInOpenStateMs: 30,
    slidingWindowSize: 30,
    minimumNumberOfCalls: 30,
    permittedNumberOfCallsInHalfOpenState: 30,
    automaticPauseOnOpen: false,
  }).map(
    ([name, value]) =>
      [
        `circuitBreaker.${name}`,
        { circuitBreaker: { enabled: false, [name]: value } },
        'circuitBreaker.enabled is false: leave that out, or set it to true.',
        { circuitBreaker: { [name]: value } },
      ] as const,
  ),
  [
    'dlt.verifyTopic',
    { dlt: { verifyTopic: true } },
    "provisioning is not 'none', and checks the dead-letter topic anyway: leave verifyTopic out.",
    { provisioning: 'none' },
  ],
  [
    'dlt.handlerTimeoutMs',
    { dlt: { handlerTimeoutMs: '5s', strategy: 'STORE_ONLY' } },
    "dlt.strategy calls no method: set it to 'ALERT_AND_STORE' or 'CUSTOM', or leave handlerTimeoutMs out.",
    { dlt: { handlerTimeoutMs: '5s', strategy: 'ALERT_AND_STORE' } },
  ],
  ...BUDGET_CAUSES.map(([{ retry, ...cause }, why]) => {
    const given = { ...cause, retry: { ...retry, onBudgetExceeded: 'NEXT_TIER' } };
    return ['retry.onBudgetExceeded', given, why, { retry: { ...retry } }] as const;
  }),
  ...(['exceptionRouting', 'retry.skipToTierMapping'] as const).map((key) => {
    const routes = { exceptionRouting: [{ match: RangeError, routing: 'NEXT_TIER' }] };
    const skips = { retry: { skipToTierMapping: [{ match: RangeError, tier: 1 }] } };
    const given = { classifier, ...(key === 'exceptionRouting' ? routes : skips) };
    const why =
      'classifier decides where failed records go, and only a failure in it is decided without it: move the rules into the classifier, or leave one of them out.';
    return [key, given, why, { classifier: undefined }] as const;
  }),
  [
    'stuckHandlerMs',
    { stuckHandlerMs: '2m', maxPollIntervalMs: '2m' },
    "maxPollIntervalMs (120000) ends the handler's time first: lower stuckHandlerMs below it, or leave it out.",
    { maxPollIntervalMs: '3m' },
  ],
  [
    'rebalance.drainTimeoutMs',
    { rebalance: { drainTimeoutMs: '3m' }, maxPollIntervalMs: '2m' },
    'the group goes on without a member that drains for longer than maxPollIntervalMs (120000): lower the drain time to that, or raise maxPollIntervalMs.',
    { maxPollIntervalMs: '3m' },
  ],
  ...Object.entries({
    initialBackoffMs: 1,
    multiplier: 3,
    maxBackoffMs: '3s',
    maxElapsedMs: '3s',
    jitter: 'none',
  }).map(
    ([name, value]) =>
      [
        `retry.tier0.${name}`,
        tier0Of({ maxAttempts: 1, [name]: value }),
        'retry.tier0.maxAttempts is 1: a single call is followed by no wait.',
        tier0Of({ maxAttempts: 3, [name]: value }),
      ] as const,
  ),
  [
    'retry.tier0.multiplier',
    tier0Of({ maxAttempts: 2, multiplier: 3 }),
    'retry.tier0.maxAttempts is 2: there is a single wait, of initialBackoffMs.',
    tier0Of({ maxAttempts: 3, multiplier: 3 }),
  ],
  [
    'retry.tiers[0].multiplier',
    tierOf({ multiplier: 2, maxAttempts: 1 }),
    'maxAttempts is 1: the tier has a single delay, of delayMs.',
    tierOf({ multiplier: 2, maxAttempts: 2 }),
  ],
  [
    'retry.tiers[0].multiplier',
    tierOf({ multiplier: 2, maxDelayMs: '10s' }),
    'maxDelayMs (10000) does not let the delay grow: raise it above delayMs (10000).',
    tierOf({ multiplier: 2, maxDelayMs: '11s' }),
  ],
  [
    'retry.tiers[0].maxDelayMs',
    tierOf({ maxDelayMs: '20s' }),
    'multiplier is 1: the delay does not grow.',
    tierOf({ maxDelayMs: '20s', multiplier: 3 }),
  ],
  [
    'retry.tiers[0].maxDelayMs',
    tierOf({ maxDelayMs: '40s', multiplier: 2 }),
    'the longest delay is 40000 ms: lower maxDelayMs below that, or leave it out.',
    tierOf({ maxDelayMs: 39_999, multiplier: 2 }),
  ],
  [
    'schemaRegistry.url',
    { deserializer: 'json', schemaRegistry: { url: REGISTRY.url } },
    "neither deserializer nor keyDeserializer is 'avro': leave one of them out.",
    { deserializer: undefined },
  ],
  [
    'schemaRegistry.url',
    { deserializer: 'text', schemaRegistry: { url: REGISTRY.url } },
    "neither deserializer nor keyDeserializer is 'avro': leave one of them out.",
    { keyDeserializer: 'avro' },
  ],
  [
    'schemaVersion.from',
    { schemaVersion: { from: 'version', supported: [] } },
    "schemaVersion.supported is empty: list the versions, supported: ['1'], or leave schemaVersion out.",
    { schemaVersion: { from: 'version', supported: ['1'] } },
  ],
  [
    'retry.poisonAfter',
    { retry: { poisonAfter: 31 } },
    'a record gets at most 30 calls, with those in all its retry topics: lower poisonAfter, or set it to 0.',
    { retry: { poisonAfter: 30 } },
  ],
  [
    'retry.poisonAfter',
    { retry: { ...ONE_CALL.retry, poisonAfter: 2 } },
    'a record gets at most 1 call, with those in all its retry topics: lower poisonAfter, or set it to 0.',
    { circuitBreaker: {} },
  ],
  [
    'commit.strict',
    { transactions: { enabled: true }, commit: { strict: true } },
    'transactions.enabled is true: no record begins before the transaction of the one before it is committed.',
    { transactions: { enabled: false } },
  ],
  ...(['MANUAL', 'MANUAL_IMMEDIATE'] as const).map(
    (ackMode) =>
      [
        'ackMode',
        { ...BATCH, ackMode },
        'a BATCH listener commits each slice as soon as it is done, in every ackMode: leave it out, or set commit.strict to wait for each commit.',
        { listenerType: 'SINGLE' },
      ] as const,
  ),
  [
    'retry.tier0.maxAttempts',
    { ...BATCH, batchFailureStrategy: 'DLQ_AND_CONTINUE', retry: { tier0: { maxAttempts: 5 } } },
    "batchFailureStrategy is 'DLQ_AND_CONTINUE', which makes one call.",
    { batchFailureStrategy: 'SEEK_TO_FAILED' },
  ],
  [
    'retry.mode',
    { ...BATCH, retry: { mode: 'in-line' } },
    "BATCH listeners always retry as with 'seek': leave retry.mode out.",
    { retry: { mode: 'seek' } },
  ],
];
