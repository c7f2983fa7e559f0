import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import type { TestingModule } from '@nestjs/testing';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import { EventBusScheduleModule } from '../../src/schedule/index.js';
import { errorOf } from '../support/test-bus.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const MINUTE = 60_000;
const INTERVAL = 'eventbus-replay-orders';
const modules = [ScheduleModule.forRoot(), EventBusScheduleModule];

const scheduled = (
  replay: Readonly<Record<string, unknown>> = {},
): Partial<TopicBindingProperties> => ({
  ...AT_ONCE,
  dlt: { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: '10m', ...replay } },
});

/** Starts an application with a schedule, after its letters were written without one. */
async function startScheduled(
  values: readonly string[],
  properties = scheduled(),
): Promise<TestingModule> {
  testBus = await RedriveTestBus.withLetters(values);
  await testBus.done(testBus.application.close());
  testBus.application = await testBus.startHandler(properties, [], modules);
  return testBus.application;
}

const replays = async (): Promise<readonly (string | null)[]> =>
  (await testBus.values('orders')).slice(3);
const operations = () => testBus.done(testBus.replay.operations('orders'));

describe('The schedule of replays', () => {
  it('replays letters after their cooldown, a batch at each interval', async () => {
    await startScheduled(['1', '2', '3'], scheduled({ batchSize: 2, intervalMs: '1m' }));
    testBus.cure();
    await testBus.runtime.advance(9 * MINUTE);
    expect(testBus.handled).toEqual([]);
    await testBus.runtime.advance(1 * MINUTE);
    expect(testBus.handled).toEqual([1, 2]);
    await testBus.runtime.advance(1 * MINUTE);
    expect(testBus.handled).toEqual([1, 2, 3]);
    const [last] = await operations();
    expect(last?.plan).toMatchObject({ createdBy: 'schedule', reason: 'replay of due letters' });
  });

  it('replays every five minutes by default, and keeps no plan that selects nothing', async () => {
    await startScheduled(['1', '2', '3']);
    testBus.cure();
    await testBus.runtime.advance(10 * MINUTE - 6_000);
    expect(await operations()).toEqual([]);
    await testBus.runtime.advance(5 * MINUTE);
    expect(testBus.handled).toEqual([1, 2, 3]);
    await testBus.runtime.advance(30 * MINUTE);
    expect(await operations()).toHaveLength(1);
  });

  it('replays a letter at most maxReplays times, with a cooldown between, also after restarts', async () => {
    const properties = scheduled({ maxReplays: 3, intervalMs: '1m' });
    await startScheduled(['1', '2', '3'], properties);
    for (let hour = 0; hour < 6; hour++) {
      await testBus.runtime.advance(9 * MINUTE);
      await testBus.done(testBus.application.close());
      testBus.application = await testBus.startHandler(properties, [], modules);
    }
    // Each of the three letters was replayed three times.
    expect(await replays()).toHaveLength(9);
    const written = await testBus.records('orders');
    const ofFirst = written
      .filter(({ value }) => String(value) === '1')
      .map((each) => each.timestamp);
    for (let index = 1; index < ofFirst.length; index++)
      expect(ofFirst[index]! - ofFirst[index - 1]!).toBeGreaterThanOrEqual(10 * MINUTE);
  });

  it('replays each letter once on several nodes, with a manual run at the same time', async () => {
    const properties = scheduled({ intervalMs: '1m' });
    const first = await startScheduled(['1', '2', '3'], properties);
    await testBus.startHandler(properties, [], modules);
    await testBus.startHandler(properties, [], modules);
    testBus.cure();
    await testBus.runtime.advance(10 * MINUTE - 10_000);
    const manual = first.get(DltReplayService).replay('orders', { all: true, rate: 1 });
    await testBus.done(Promise.resolve(manual));
    await testBus.runtime.advance(10 * MINUTE);
    expect(new Set(await replays())).toEqual(new Set(['1', '2', '3']));
    expect(await replays()).toHaveLength(3);
  });

  it('begins no replay before the last one has ended', async () => {
    await startScheduled(['1', '2', '3'], scheduled({ intervalMs: '1m' }));
    testBus.cure();
    const commits = testBus.broker.faults.delayRequests(
      { operation: 'end-transaction' },
      5 * MINUTE,
    );
    await testBus.runtime.advance(14 * MINUTE);
    expect((await operations()).length).toBeLessThanOrEqual(1);
    commits.lift();
    await testBus.runtime.advance(20 * MINUTE);
    expect(new Set(await replays())).toEqual(new Set(['1', '2', '3']));
    expect(await replays()).toHaveLength(3);
  });

  it('is an interval of SchedulerRegistry, and ends when it is deleted there', async () => {
    const application = await startScheduled(['1', '2', '3'], scheduled({ intervalMs: '1m' }));
    testBus.cure();
    const registry = application.get(SchedulerRegistry);
    expect(registry.getIntervals()).toEqual([INTERVAL]);
    registry.deleteInterval(INTERVAL);
    await testBus.runtime.advance(30 * MINUTE);
    expect(testBus.handled).toEqual([]);
  });

  it('follows bindings that are registered and unregistered while the application runs', async () => {
    const application = await startScheduled([]);
    const registry = application.get(SchedulerRegistry);
    const connector = application.get(EventBusConnector);
    const tenants = { topic: 'orders', groupId: 'tenants', ...scheduled() };
    const note = () => undefined;
    await testBus.done(connector.register('tenants', tenants, note));
    expect(registry.getIntervals()).toEqual([INTERVAL, 'eventbus-replay-tenants']);
    await testBus.done(connector.unregister('tenants'));
    expect(registry.getIntervals()).toEqual([INTERVAL]);
  });

  it('leaves bindings with another strategy alone', async () => {
    const application = await startScheduled(['1', '2', '3'], AT_ONCE);
    expect(application.get(SchedulerRegistry).getIntervals()).toEqual([]);
  });

  it('tells a replay that fails, and tries again at the next interval', async () => {
    await startScheduled(['1', '2', '3'], scheduled({ intervalMs: '1m' }));
    testBus.cure();
    const fault = testBus.broker.faults.refuse(
      { operation: 'describe-config' },
      new Error('the broker is unwell'),
    );
    await testBus.runtime.advance(12 * MINUTE);
    expect(testBus.log.warnings.join()).toContain('A scheduled replay of dead letters failed');
    fault.lift();
    await testBus.runtime.advance(2 * MINUTE);
    expect(testBus.handled).toEqual([1, 2, 3]);
  });

  it('stops the start, and says what to import, if the application has no scheduler', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    const start = testBus.startHandler(scheduled(), [], [EventBusScheduleModule]);
    expect(await errorOf(start)).toMatchObject({
      code: 'SCHEDULER_MISSING',
      message: expect.stringContaining('add ScheduleModule.forRoot() to the imports'),
    });
  });
});
