import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const complaints = (properties: object) => complaintsOf(() => resolvedOrders(properties));

describe('TIER_SUFFIX', () => {
  it('refuses a suffix without {n} if there are several tiers', () => {
    const tiers = [{ topicSuffix: 'soon' }, { topicSuffix: 'later-{n}' }];
    expect(complaints({ retry: { tiers } })).toEqual([
      "TIER_SUFFIX bindings.orders.retry.tiers[0].topicSuffix: 'soon' has no {n}, so that the 2 tiers cannot be distinguished. Write it with {n}, such as 'retry-{n}', or use a single tier.",
    ]);
    expect(complaints({ retry: { tiers: [{ topicSuffix: 'soon' }] } })).toEqual([]);
  });
});

describe('TIER_SUFFIX with a naming strategy', () => {
  const retry = { tiers: [{ delayMs: 1_000 }, { delayMs: 2_000 }] };
  const naming = (nameOf: (tier: number) => string) => ({
    retryTopic: (_: string, tier: number) => nameOf(tier),
    deadLetterTopic: () => 'dead',
  });

  it('is skipped if the names of the tiers differ', () => {
    const names = naming((tier) => `again-${tier}`);
    expect(complaints({ preset: 'brokers', retry, naming: names })).toEqual([]);
    expect(complaints({ preset: 'brokers', retry })).toHaveLength(3);
  });

  it('is skipped for equal names, which TOPIC_COLLISION reports', () => {
    const violations = complaints({ preset: 'brokers', retry, naming: naming(() => 'again') });
    expect(violations).toEqual([
      "TOPIC_COLLISION bindings.orders.retry.tiers[1].topicSuffix: makes 'again', the name that retry.tiers[0].topicSuffix has already. The main topic, each retry topic and the dead-letter topic need names of their own.",
    ]);
  });
});

describe('TOPIC_NAME', () => {
  it('refuses a name that is too long with its suffix', () => {
    const topic = 'o'.repeat(247);
    const rest =
      "which is not a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'. Shorten the suffix or the topic.";
    expect(complaints({ topic, retry: { tiers: [{}] } })).toEqual([
      `TOPIC_NAME bindings.orders.retry.tiers[0].topicSuffix: makes '${topic}.retry-1', ${rest}`,
      `TOPIC_NAME bindings.orders.dlt.topic: makes '${topic}.DLT', ${rest}`,
    ]);
    expect(complaints({ topic, retry: { tiers: [] }, dlt: { topic: 'dead' } })).toEqual([]);
  });

  it('refuses an unknown placeholder', () => {
    expect(complaints({ dlt: { topicSuffix: 'dead-{n}' } })).toEqual([
      "TOPIC_NAME bindings.orders.dlt.topic: makes 'orders.events.dead-{n}', which is not a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'. Shorten the suffix or the topic.",
    ]);
  });
});

describe('TOPIC_COLLISION', () => {
  it('refuses a dead-letter topic that the binding itself reads', () => {
    const rest =
      'The main topic, each retry topic and the dead-letter topic need names of their own.';
    expect(complaints({ dlt: { topic: 'orders.events' } })).toEqual([
      `TOPIC_COLLISION bindings.orders.dlt.topic: makes 'orders.events', the name that topic has already. ${rest}`,
    ]);
    expect(complaints({ dlt: { topicSuffix: 'retry-2' } })).toEqual([
      `TOPIC_COLLISION bindings.orders.dlt.topic: makes 'orders.events.retry-2', the name that retry.tiers[1].topicSuffix has already. ${rest}`,
    ]);
  });
});

describe('TIER_RETENTION', () => {
  const tiers = [{ delayMs: '1h' }, { delayMs: '20h', multiplier: 2, maxDelayMs: '48h' }];
  const keptFor = (retentionDays: number, properties: object = {}) =>
    complaints({
      provisioning: 'create',
      retry: { tiers },
      topics: { retry: { retentionDays } },
      ...properties,
    });

  it('refuses a retention of retry topics that is shorter than the delay', () => {
    expect(keptFor(2)).toEqual([
      'TIER_RETENTION bindings.orders.topics.retry.retentionDays: deletes a record before its turn comes: topics.retry.retentionDays is 2 (from the options), and tier 2 waits for up to 172800000 ms. Raise it to 3 or more, or shorten the delay.',
    ]);
    expect(keptFor(3)).toEqual([]);
  });

  it('is skipped if the cluster decides the retention', () => {
    expect(keptFor(0)).toEqual([]);
  });

  it('is skipped if no topic is created', () => {
    expect(keptFor(1, { provisioning: 'verify' })).toEqual([]);
  });
});
