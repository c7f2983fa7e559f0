import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { ResolvedBinding } from '../../src/config/resolving/resolved-binding.js';
import { resolvedOrders } from '../../src/config/configuration.spec-support.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { OnEventBus } from '../../src/discovery/decorators/on-event-bus.js';
import { LAG_ALERT_HANDLER } from '../../src/discovery/decorators/tokens.js';
import type { EventBusEvent, LagAlertRaised } from '../../src/model/events/event-bus-events.js';
import type { AlertState } from '../../src/model/states/lag-alert.js';
import type { BindingLag, GroupLag } from '../../src/model/states/lag.js';
import { alertStates } from '../../src/observability/alerts/alert-states.js';
import { LagAlerts, type LagAlertParts } from '../../src/observability/alerts/lag-alerts.js';
import { TestBus } from '../support/test-bus.spec-support.js';

function group(tier: number, records: number, seconds: number | undefined): GroupLag {
  const topic = tier === 0 ? 'orders' : `orders.retry-${tier}`;
  const fine = { status: 'OK', cause: undefined } as const;
  return { topic, groupId: 'shop', tier, records, seconds, ...fine, partitions: [] };
}

interface Figures {
  readonly main?: readonly [records: number, seconds?: number];
  readonly tier?: readonly [records: number, seconds?: number];
  readonly letters?: readonly [records: number, seconds?: number];
}

function lagOf({ main = [0, 0], tier = [0, 0], letters = [0, 0] }: Figures): BindingLag {
  const [records, oldestSeconds] = letters;
  return {
    ...group(0, main[0], main[1]),
    ...{ binding: 'orders', cluster: 'default', at: 1, error: undefined },
    main: group(0, main[0], main[1]),
    tiers: [group(1, tier[0], tier[1])],
    deadLetters: { topic: 'orders.DLT', records, oldestSeconds, isExact: true },
  };
}

const binding = (alerts: object = {}, properties: object = {}): ResolvedBinding =>
  resolvedOrders({ alerts, retry: { tiers: [{ delayMs: '1m' }] }, ...properties });

function levelOf(
  figures: Figures,
  options: ResolvedBinding,
  of: AlertState['of'],
  measure: AlertState['measure'] = 'records',
): AlertState['level'] | undefined {
  const states = alertStates(lagOf(figures), options);
  return states.find((state) => state.of === of && state.measure === measure)?.level;
}

describe('The thresholds of an alert', () => {
  it.each([
    ['financial', 100, 'OK'],
    ['financial', 101, 'WARNING'],
    ['financial', 1_000, 'WARNING'],
    ['financial', 1_001, 'CRITICAL'],
    ['notification', 500, 'OK'],
    ['notification', 501, 'WARNING'],
    ['notification', 5_000, 'WARNING'],
    ['notification', 5_001, 'CRITICAL'],
    ['other', 1_000, 'OK'],
    ['other', 1_001, 'WARNING'],
    ['other', 10_000, 'WARNING'],
    ['other', 10_001, 'CRITICAL'],
  ])('are those of class %s: a lag of %i is %s', (name, records, level) => {
    const options = binding({ class: name });
    expect(levelOf({ main: [records] }, options, 'main')).toBe(level);
    expect(levelOf({ tier: [records] }, options, 'tier')).toBe(level);
  });

  it.each([
    [0, 'OK'],
    [1, 'WARNING'],
    [10, 'WARNING'],
    [11, 'CRITICAL'],
  ])('call %i dead letters %s', (records, level) => {
    expect(levelOf({ letters: [records] }, binding(), 'dead-letters')).toBe(level);
  });

  it('are those of the preset of the earlier system', () => {
    const classOf = (preset: string) => binding({}, { preset }).alerts.class;
    expect(classOf('strategy-financial')).toBe('financial');
    expect(classOf('strategy-notification')).toBe('notification');
    expect(classOf('strategy')).toBe('other');
  });

  it.each([
    ['lagWarning', { lagWarning: 5 }, { main: [6, 0] }, 'main', 'records', 'WARNING'],
    ['lagCritical', { lagCritical: 5 }, { main: [6, 0] }, 'main', 'records', 'CRITICAL'],
    ['ageWarningMs', { ageWarningMs: '5s' }, { main: [1, 5.1] }, 'main', 'seconds', 'WARNING'],
    ['ageCriticalMs', { ageCriticalMs: '5s' }, { main: [1, 5.1] }, 'main', 'seconds', 'CRITICAL'],
    ['dltWarning', { dltWarning: 5 }, { letters: [5, 0] }, 'dead-letters', 'records', 'OK'],
    ['dltCritical', { dltCritical: 5 }, { letters: [6, 0] }, 'dead-letters', 'records', 'CRITICAL'],
    [
      'dltAgeWarningMs',
      { dltAgeWarningMs: '1h' },
      { letters: [1, 3_601] },
      'dead-letters',
      'seconds',
      'WARNING',
    ],
    [
      'dltAgeCriticalMs',
      { dltAgeCriticalMs: '1h' },
      { letters: [1, 3_601] },
      'dead-letters',
      'seconds',
      'CRITICAL',
    ],
  ] as const)('are changed by alerts.%s', (_, alerts, figures, of, measure, level) => {
    expect(levelOf(figures, binding(alerts), of, measure)).toBe(level);
  });

  it('count the age in a retry topic from the time at which its records are due', () => {
    const options = binding({ ageWarningMs: '5s' });
    expect(levelOf({ tier: [1, 65] }, options, 'tier', 'seconds')).toBe('OK');
    expect(levelOf({ tier: [1, 65.1] }, options, 'tier', 'seconds')).toBe('WARNING');
  });

  it('say nothing of an age that is not known', () => {
    expect(levelOf({ main: [7, undefined] }, binding(), 'main', 'seconds')).toBeUndefined();
  });
});

describe('LagAlerts of a figure that is not known for a while', () => {
  const alertsAfter = (...seconds: readonly (number | undefined)[]) => {
    const alerts: EventBusEvent[] = [];
    const registration = { key: 'orders', cluster: 'default', bindingName: 'orders' };
    const listed = [{ ...registration, config: binding({ ageWarningMs: '5s' }) }];
    let lag = lagOf({});
    let poll = (): void => undefined;
    const parts = {
      lag: { of: () => lag, onPoll: (listener: () => void) => void (poll = listener) },
      registry: { listAll: () => listed, onChange: () => undefined },
      events: { emit: (event: EventBusEvent) => void alerts.push(event), wants: () => true },
    };
    new LagAlerts(parts as unknown as LagAlertParts).attach();
    for (const each of seconds) {
      lag = lagOf({ main: [1, each] });
      poll();
    }
    return alerts.map((each) => 'previous' in each && [each.previous, each.level]);
  };

  it('tell its end when it is known again', () => {
    expect(alertsAfter(6, undefined, 0)).toEqual([
      ['OK', 'WARNING'],
      ['WARNING', 'OK'],
    ]);
  });

  it('are not repeated when it is known again', () => {
    expect(alertsAfter(6, undefined, 6)).toEqual([['OK', 'WARNING']]);
  });
});

describe('LagAlerts', () => {
  let testBus: TestBus;
  let alerts: LagAlertRaised[];
  let handled: LagAlertRaised[];
  let gate: Deferred;

  @Injectable()
  class Orders {
    @EventHandler('orders')
    async onOrder(): Promise<void> {
      await gate.promise;
    }

    @OnEventBus('lag.alert')
    onAlert(alert: LagAlertRaised): void {
      alerts.push(alert);
      throw new Error('a listener that throws');
    }
  }

  const handler = {
    provide: LAG_ALERT_HANDLER,
    useValue: { onLagAlert: (alert: LagAlertRaised) => void handled.push(alert) },
  };

  beforeEach(async () => {
    testBus = new TestBus();
    alerts = [];
    handled = [];
    gate = new Deferred();
    await testBus.topic('orders');
  });

  afterEach(() => testBus.end());

  it('emit each change of a level once, to listeners and to the provider of LAG_ALERT_HANDLER', async () => {
    const properties = { alerts: { lagWarning: 1, lagCritical: 3 }, retry: { tiers: [] } };
    const options = { lag: { intervalMs: 1_000 } };
    await testBus.startOrders([Orders, handler], properties, options);
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(5_000);
    await testBus.write('orders', '3', '4');
    await testBus.runtime.advance(5_000);
    gate.resolve();
    await testBus.runtime.advance(5_000);
    expect(alerts.map(({ previous, level, value }) => [previous, level, value])).toEqual([
      ['OK', 'WARNING', 2],
      ['WARNING', 'CRITICAL', 4],
      ['CRITICAL', 'OK', 0],
    ]);
    expect(alerts[1]).toMatchObject({
      binding: 'orders',
      of: 'main',
      topic: 'orders',
      measure: 'records',
      threshold: 3,
    });
    expect(handled).toEqual(alerts);
  });

  it('keep their levels while the brokers do not answer', async () => {
    const properties = { alerts: { lagWarning: 1 }, retry: { tiers: [] } };
    await testBus.startOrders([Orders], properties, { lag: { intervalMs: 1_000 } });
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(5_000);
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(60_000);
    expect(alerts).toHaveLength(1);
    outage.lift();
    gate.resolve();
    await testBus.runtime.advance(60_000);
    expect(alerts.at(-1)).toMatchObject({ previous: 'WARNING', level: 'OK' });
  });

  it('refuse a provider without the method at the start', async () => {
    const wrong = { provide: LAG_ALERT_HANDLER, useValue: { alert: () => undefined } };
    await expect(testBus.startOrders([Orders, wrong])).rejects.toThrow(
      'must be an object with a method onLagAlert(alert)',
    );
  });
});
