import { complaintsOf } from '../config/configuration.spec-support.js';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { RecordProcessor } from '../model/outcomes/outcome.js';
import { binding, busWith, processor, tier } from './bus-test-bed.spec-support.js';
import { mainConsumer, tierConsumer } from './consumer-settings.js';
import { noDriver } from './fake-sessions.spec-support.js';

const withTiers = (change: Partial<ResolvedBinding> = {}): ResolvedBinding =>
  binding('orders', { tiers: [tier(1), tier(2, { concurrency: 3 })], ...change });

describe('ContainerFactory', () => {
  it('builds one main container and one per retry tier, with the documented ids', () => {
    const { mainContainer, retryTierContainers, ...registration } = busWith().build(withTiers());
    expect(mainContainer).toMatchObject({ id: 'eventbus-orders', topic: 'orders.events', tier: 0 });
    expect(retryTierContainers).toMatchObject([
      {
        id: 'eventbus-orders-retry-1',
        topic: 'orders.events-retry-1',
        groupId: 'order-service-retry-1',
        tier: 1,
        concurrency: 1,
      },
      { id: 'eventbus-orders-retry-2', tier: 2, concurrency: 3 },
    ]);
    expect(registration).toMatchObject({
      bindingName: 'orders',
      cluster: 'default',
      key: 'default:orders',
      state: 'CREATED',
      pauses: [],
      lastCommand: undefined,
    });
  });

  it('shares one circuit breaker between the main container and its tiers', () => {
    const { circuitBreaker, mainContainer, retryTierContainers } = busWith().build(withTiers());
    expect(mainContainer.circuitBreaker).toBe(circuitBreaker);
    expect(retryTierContainers).toHaveLength(2);
    for (const container of retryTierContainers)
      expect(container.circuitBreaker).toBe(circuitBreaker);
    expect(busWith().build(withTiers()).circuitBreaker).not.toBe(circuitBreaker);
    expect(circuitBreaker.current).toBeUndefined();
  });

  it('builds a registration whose objects are frozen', () => {
    const registration = busWith().build(withTiers());
    expect(Object.isFrozen(registration)).toBe(true);
    expect(Object.isFrozen(registration.retryTierContainers)).toBe(true);
  });

  it('builds no retry tier if tiers are omitted', () => {
    const { factory } = busWith();
    const built = factory.create(withTiers(), { driver: noDriver, processor, tiers: 'omit' });
    expect(built.retryTierContainers).toEqual([]);
  });

  it('calls neither the driver nor a session before start()', () => {
    const bus = busWith();
    bus.build(withTiers());
    expect(bus.sessions.all).toEqual([]);
  });

  it('gives each session its processor, its driver and the settings of the binding', async () => {
    const { factory, sessions, runtime, logger } = busWith();
    const forTier: RecordProcessor = { process: processor.process };
    const built = factory.create(withTiers({ ackMode: 'MANUAL', maxPollRecords: 7 }), {
      driver: noDriver,
      processor,
      tierProcessor: ({ number }) => (number === 2 ? forTier : processor),
    });
    await built.mainContainer.start();
    await built.retryTierContainers[1]?.start();
    expect(sessions.get('eventbus-orders-0').options).toMatchObject({
      containerId: 'eventbus-orders',
      sessionIndex: 0,
      settings: { ackMode: 'MANUAL', maxPollRecords: 7 },
    });
    expect(sessions.get('eventbus-orders-0').options).toEqual(
      expect.objectContaining({ driver: noDriver, processor, runtime, logger }),
    );
    expect(sessions.get('eventbus-orders-retry-2-2').options.processor).toBe(forTier);
  });

  it('rejects a cluster name with a colon, which would make the keys of bindings ambiguous', () => {
    const { build } = busWith();
    expect(complaintsOf(() => build(binding('orders', { cluster: 'eu:west' })))).toEqual([
      `CLUSTER bindings.orders.cluster: a cluster's name has no ":" in it; call 'eu:west' something else.`,
    ]);
  });
});

describe('the settings of a container', () => {
  it('pass all options of the binding to the consumer', () => {
    const options = mainConsumer(
      binding('orders', {
        groupId: 'warehouse',
        topic: 'orders.v2',
        assignmentStrategy: ['range', 'sticky'],
        groupProtocol: 'consumer',
        offsetReset: 'latest',
        sessionTimeoutMs: 9_000,
        heartbeatIntervalMs: 3_000,
        pollTimeoutMs: 250,
        rebalance: { drainTimeoutMs: 4_000 },
      }),
    );
    expect(options).toEqual({
      groupId: 'warehouse',
      topics: ['orders.v2'],
      assignors: ['range', 'sticky'],
      groupProtocol: 'consumer',
      offsetReset: 'latest',
      isolation: 'read_committed',
      sessionTimeoutMs: 9_000,
      heartbeatIntervalMs: 3_000,
      rebalanceTimeoutMs: 17_000,
      fetch: { maxWaitMs: 250 },
    });
  });

  it('pass all options of the binding to the sessions', async () => {
    const { build, sessions } = busWith();
    const configured = {
      maxPollRecords: 9,
      maxPollIntervalMs: 50_000,
      idleBetweenPollsMs: 3,
      stuckHandlerMs: 20_000,
      listenerType: 'SINGLE',
      processing: { by: 'key', maxConcurrency: 3 },
    } as const;
    await build(
      binding('orders', {
        ...configured,
        ackMode: 'MANUAL',
        commit: { strict: true },
        rebalance: { drainTimeoutMs: 4_000 },
      }),
    ).mainContainer.start();
    expect(sessions.get('eventbus-orders-0').options.settings).toEqual({
      ...configured,
      ackMode: 'MANUAL',
      strictCommits: true,
      isTransactional: false,
      rebalanceDrainTimeoutMs: 4_000,
      failureBackoff: { initialMs: 1_000, maxMs: 30_000 },
    });
  });

  it.each([
    ['heartbeat, drain and 10 s', 9_000, 600_000, 3_000, 4_000, 17_000],
    ['never less than the session time-out', 45_000, 600_000, 10_000, 1_000, 45_000],
    ['never more than maxPollIntervalMs', 9_000, 60_000, 3_000, 120_000, 60_000],
  ])(
    'have the rebalance timeout %s',
    (_, sessionTimeoutMs, maxPollIntervalMs, heartbeatIntervalMs, drainTimeoutMs, expected) => {
      const configured = { sessionTimeoutMs, maxPollIntervalMs, heartbeatIntervalMs };
      const options = mainConsumer(
        binding('orders', { ...configured, rebalance: { drainTimeoutMs } }),
      );
      expect(options.rebalanceTimeoutMs).toBe(expected);
    },
  );

  it('let a retry tier read its own topic in its own group, always from the earliest record', () => {
    const latest = binding('orders', { offsetReset: 'latest' });
    expect(tierConsumer(latest, tier(1))).toEqual({
      ...mainConsumer(latest),
      topics: ['orders.events-retry-1'],
      groupId: 'order-service-retry-1',
      offsetReset: 'earliest',
    });
  });
});
