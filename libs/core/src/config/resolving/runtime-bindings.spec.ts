import { complaintsOf, orders, violationsOf } from '../configuration.spec-support.js';
import { resolveBinding } from './resolve-binding.js';
import { resolveOptions } from './resolve-options.js';

describe('resolveBinding() for a binding registered at run time', () => {
  const { context, bindings: existing } = resolveOptions(
    orders({}, { defaults: { concurrency: 4 }, clusters: { eu: { brokers: 'eu:9092' } } }),
  );
  const register = (properties: object, name = 'late') =>
    resolveBinding(name, [{ source: 'register()', properties }], context, existing);

  it('applies the same rules as at startup', () => {
    const late = register({ topic: 'late', groupId: 'g', sessionTimeoutMs: '30s' });
    expect(late).toMatchObject({ name: 'late', concurrency: 4, sessionTimeoutMs: 30_000 });
    expect(Object.isFrozen(late.retry.tier0)).toBe(true);
  });

  it('refuses it with the same messages as at startup', () => {
    const invalid = { topik: 'x', groupId: 'g', cluster: 'us', heartbeatIntervalMs: '40s' };
    const atStart = complaintsOf(() =>
      resolveOptions({
        brokers: 'a:1',
        clusters: { eu: { brokers: 'eu:9092' } },
        bindings: { late: invalid as never },
      }),
    );
    const later = complaintsOf(() => register(invalid));
    expect(later.map((line) => line.replace('register()', 'the options'))).toEqual(atStart);
    expect(atStart).toEqual([
      "UNKNOWN_KEY bindings.late.topik: there is no option 'topik' here. Did you mean 'topic'?",
      "REQUIRED bindings.late.topic: is missing: every binding reads a topic. Add topic: 'the-topic'.",
      "UNKNOWN_CLUSTER bindings.late.cluster: there is no cluster 'us'. Known are: default, eu.",
      "SESSION_TIMEOUT bindings.late.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 45000 (from the library's defaults), heartbeatIntervalMs is 40000 (from the options). Raise the first to 120000 or lower the second to 15000.",
    ]);
  });

  it('refuses the topic and group of another binding on its cluster', () => {
    const same = { topic: 'orders.events', groupId: 'order-service' };
    expect(complaintsOf(() => register(same))).toEqual([
      "GROUP_TOPIC bindings.late.groupId: binding 'orders' reads topic 'orders.events' in group 'order-service' too: each of the two would get only a part of the records. Give one of them another groupId, or put both handlers on one binding.",
    ]);
    expect(register({ ...same, cluster: 'eu' }).cluster).toBe('eu');
    expect(register({ ...same, topic: 'other' }).topic).toBe('other');
    expect(register({ ...same, groupId: 'other' }).groupId).toBe('other');
  });

  it('refuses to read the retry topic of another binding in its retry group', () => {
    const trap = { topic: 'orders.events.retry-1', groupId: 'order-service.retry-1' };
    expect(violationsOf(() => register(trap)).map(({ rule }) => rule)).toEqual(['GROUP_TOPIC']);
  });

  it.each(['', 'with space', 'a/b', 'x'.repeat(101), 'ünicode'])('refuses the name %p', (name) => {
    const violations = violationsOf(() => register({ topic: 't', groupId: 'g' }, name));
    expect(violations.map(({ rule }) => rule)).toEqual(['NAME']);
  });

  it('takes the layers highest first, and names the source of an invalid value', () => {
    const layers = [
      { source: 'an operator', properties: { topic: 't', groupId: 'g', concurrency: 2 } },
      {
        source: '@EventHandler on Late.onEvent',
        path: '@EventHandler on Late.onEvent',
        properties: { concurrency: 3, heartbeatIntervalMs: '20s', acMode: 'x' } as object,
      },
    ];
    expect(complaintsOf(() => resolveBinding('late', layers, context))).toEqual([
      "UNKNOWN_KEY @EventHandler on Late.onEvent.acMode: there is no option 'acMode' here. Did you mean 'ackMode'?",
      "SESSION_TIMEOUT bindings.late.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 45000 (from the library's defaults), heartbeatIntervalMs is 20000 (from @EventHandler on Late.onEvent). Raise the first to 60000 or lower the second to 15000.",
    ]);
  });
});
