import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { TOPIC_NAMING_STRATEGY } from '../../src/discovery/decorators/tokens.js';
import type { DltRecord } from '../../src/model/records/dlt-record.js';
import type { TopicNamingStrategy } from '../../src/model/extension-points/topic-naming-strategy.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import {
  eventbusHeader,
  fail,
  RecordingTestBus,
} from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };
const noTiers = { retry: { tiers: [] } };

describe('The dead-letter topic', () => {
  it('is named by dlt.topic or dlt.topicSuffix', async () => {
    await testBus.topic('dead-orders');
    await testBus.startHandler({ ...once, dlt: { topic: 'dead-orders' } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(await testBus.values('dead-orders')).toEqual(['1']);
    await testBus.end();
    testBus = await RecordingTestBus.create();
    await testBus.topic('orders-dead');
    await testBus.startHandler({ ...once, dlt: { topicSuffix: '-dead' } });
    await testBus.write('orders', '2');
    await testBus.runtime.advance(1_000);
    expect(await testBus.values('orders-dead')).toEqual(['2']);
  });

  it('receives the headers of dlt.headerProfile', async () => {
    await testBus.startHandler({ ...once, dlt: { headerProfile: ['spring', 'plain'] } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const [letter] = await testBus.records('orders.DLT');
    const names = letter!.headers.map(({ key }) => key);
    expect(names).toEqual(expect.arrayContaining(['kafka_dlt-original-topic', 'original-topic']));
    expect(names).not.toContain('x-eventbus-last-exception-class');
    expect(eventbusHeader(letter!, 'dlt-reason')).toBe('RETRIES_EXHAUSTED');
  });

  it('keeps a record waiting while it is missing, without another call of the handler', async () => {
    testBus.handle = ({ value }) => (value === 1 ? fail() : undefined);
    const application = await testBus.startHandler({ ...once, dlt: { topic: 'late' } });
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(60_000);
    expect(testBus.calls).toHaveLength(1);
    expect(await testBus.committed()).toBe(0);
    const health = testBus.health(application);
    expect(health.status).toBe('DOWN');
    expect(health.bindings[0]?.reasons.join()).toContain("'late'");
    await testBus.topic('late');
    await testBus.runtime.advance(60_000);
    expect(await testBus.values('late')).toEqual(['1']);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 2]);
    expect(await testBus.committed()).toBe(2);
    expect(testBus.health(application).status).toBe('UP');
    const [letter] = await testBus.records('late');
    expect(eventbusHeader(letter!, 'total-attempts')).toBe('1');
  });

  it('is not reported as unwritable after its binding was stopped', async () => {
    const application = await testBus.startHandler({ ...once, dlt: { topic: 'late' } });
    const unwritableTopics = () =>
      application
        .get(EventBusMetrics)
        .collect()
        .find(({ name }) => name === 'eventbus.publish.troubles')?.samples;
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    expect(unwritableTopics()).toMatchObject([{ labels: { topic: 'late' }, value: 1 }]);
    const lifecycle = application.get(LifecycleManager);
    await testBus.done(lifecycle.stop('orders'));
    expect(unwritableTopics()).toEqual([]);
    await testBus.topic('late');
    await testBus.done(lifecycle.start('orders'));
    await testBus.runtime.advance(1_000);
    expect(testBus.health(application).status).toBe('UP');
    expect(await testBus.values('late')).toEqual(['1']);
  });

  it('sets health to DOWN during the whole time between two failed writes', async () => {
    const application = await testBus.startHandler({
      ...once,
      dlt: { topic: 'lost', publishTimeoutMs: '3m' },
    });
    await testBus.topic('lost');
    testBus.broker.faults.loseRequests({ operation: 'produce', topic: 'lost' });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(4 * 60_000);
    for (let minutes = 0; minutes < 15; minutes += 0.5) {
      await testBus.runtime.advance(30_000);
      expect([minutes, testBus.health(application).status]).toEqual([minutes, 'DOWN']);
    }
  });

  it('causes one call of an alert method that names it twice', async () => {
    const alerts: string[] = [];
    @Injectable()
    @DltAlert('orders')
    class Alerts {
      @DltAlert()
      @DltAlert('orders')
      onDeadLetter({ originalTopic }: DltRecord): void {
        alerts.push(originalTopic);
      }
      @DltAlert('orders')
      alert({ originalTopic }: DltRecord): void {
        alerts.push(`another of ${originalTopic}`);
      }
    }
    await testBus.startHandler({ ...once, dlt: { strategy: 'ALERT_AND_STORE' } }, [Alerts]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(alerts.toSorted()).toEqual(['another of orders', 'orders']);
  });

  it('causes an alert with ALERT_AND_STORE, and a call of the @DltHandler with CUSTOM', async () => {
    const alerts: DltRecord[] = [];
    @Injectable()
    class Alerts {
      @DltAlert('orders')
      alert(letter: DltRecord): void {
        alerts.push(letter);
      }
      @DltHandler('orders')
      decide(letter: DltRecord): 'discard' {
        alerts.push(letter);
        return 'discard';
      }
    }
    await testBus.startHandler({ ...once, dlt: { strategy: 'ALERT_AND_STORE' } }, [Alerts]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(alerts).toMatchObject([
      {
        originalTopic: 'orders',
        originalOffset: 0n,
        dltReason: 'RETRIES_EXHAUSTED',
        totalAttempts: 1,
      },
    ]);
    expect(await testBus.deadLetters()).toEqual(['1']);
    await testBus.end();
    testBus = await RecordingTestBus.create();
    await testBus.startHandler({ ...once, dlt: { strategy: 'CUSTOM' } }, [Alerts]);
    await testBus.write('orders', '2');
    await testBus.runtime.advance(1_000);
    expect(alerts).toHaveLength(2);
    expect(await testBus.deadLetters()).toEqual([]);
    expect(await testBus.committed()).toBe(1);
  });

  it('causes an alert during the drain, before the providers of the alert are destroyed', async () => {
    const steps: string[] = [];
    @Injectable()
    class Pager implements OnModuleDestroy {
      async page(): Promise<void> {
        await sleep(testBus.runtime, 2_000);
        steps.push('paged');
      }
      onModuleDestroy(): void {
        steps.push('pager closed');
      }
    }
    @Injectable()
    class Alerts {
      constructor(private readonly pager: Pager) {}
      @DltAlert('orders')
      onLetter(): Promise<void> {
        return this.pager.page();
      }
    }
    testBus.handle = async () => {
      await sleep(testBus.runtime, 1_000);
      return fail();
    };
    const properties = { ...once, dlt: { strategy: 'ALERT_AND_STORE' } } as const;
    const application = await testBus.startHandler(properties, [Pager, Alerts]);
    await testBus.write('orders', '1');
    await testBus.done(application.close());
    expect(await testBus.deadLetters()).toEqual(['1']);
    expect(steps).toEqual(['paged', 'pager closed']);
  });

  it('is handled for a binding that is registered later, if the @DltHandler names its cluster', async () => {
    @Injectable()
    class DeadLetterMethods {
      @DltHandler('late', { cluster: 'default' })
      decide(): 'discard' {
        return 'discard';
      }
    }
    const connector = (await testBus.startHandler({}, [DeadLetterMethods])).get(EventBusConnector);
    for (const topic of ['late', 'late.DLT']) await testBus.topic(topic);
    const late = { ...once, topic: 'late', groupId: 'late', dlt: { strategy: 'CUSTOM' } } as const;
    await testBus.done(connector.register('late', late, () => fail()));
    await testBus.write('late', '1');
    await testBus.runtime.advance(1_000);
    expect(await testBus.values('late.DLT')).toEqual([]);
    expect(await testBus.committed('late')).toBe(1);
  });
});

it('A TOPIC_NAMING_STRATEGY provider names the topics of all bindings', async () => {
  await testBus.topic('orders-of-the-shop-dead');
  const naming: TopicNamingStrategy = {
    retryTopic: (topic, tier) => `${topic}-of-the-shop-${tier}`,
    deadLetterTopic: (topic) => `${topic}-of-the-shop-dead`,
  };
  await testBus.startHandler(noTiers, [{ provide: TOPIC_NAMING_STRATEGY, useValue: naming }]);
  await testBus.write('orders', '1');
  await testBus.runtime.advance(5_000);
  expect(await testBus.values('orders-of-the-shop-dead')).toEqual(['1']);
});
