import { EventBusAdmin } from '../../src/admin/event-bus-admin.js';
import { fromEnvironment } from '../../src/presets/index.js';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import { AdminTestBus, type AdminAnswer } from './admin-test-bus.spec-support.js';

const PATH = 'bindings/orders/configuration';

interface Option {
  readonly key: string;
  readonly value: unknown;
  readonly origin: string;
  readonly isChangeable: boolean;
}

describe('The configuration of a binding', () => {
  let bus: AdminTestBus;

  afterEach(() => bus.end());

  const change = (changes: object, reason = 'because'): Promise<AdminAnswer> =>
    bus.ask('PATCH', PATH, { body: { changes, reason } });

  const optionIn = ({ body }: AdminAnswer, key: string): Option | undefined =>
    (body['options'] as readonly Option[]).find((each) => each.key === key);

  /** Calls of the handler for one record that always fails. */
  async function callsOfOneRecord(): Promise<number> {
    const before = bus.calls;
    await bus.fails(String(before));
    return bus.calls - before;
  }

  it('says where each value comes from, and whether it can be changed', async () => {
    const environment = fromEnvironment({ EVENTBUS_BINDINGS_ORDERS_MAX_POLL_RECORDS: '7' });
    bus = await AdminTestBus.started({}, { loaders: [environment] });
    const answer = await bus.ask('GET', PATH);
    expect(answer).toMatchObject({ status: 200, body: { name: 'orders', scope: 'process' } });
    expect(
      ['concurrency', 'retry.tier0.maxAttempts', 'maxPollRecords', 'topic'].map((key) =>
        optionIn(answer, key),
      ),
    ).toMatchObject([
      { value: 1, origin: 'default', isChangeable: true },
      { value: 1, origin: 'code', isChangeable: true },
      { value: 7, origin: 'environment', isChangeable: true },
      { value: 'orders', origin: 'code', isChangeable: false },
    ]);
  });

  it('takes another concurrency: the binding joins with as many members', async () => {
    bus = await AdminTestBus.started();
    expect(await bus.members()).toHaveLength(1);
    const changed = await change({ concurrency: 3 });
    expect(changed).toMatchObject({
      status: 200,
      body: { state: 'RUNNING', lastCommand: { by: 'ann', reason: 'because' } },
    });
    expect(optionIn(changed, 'concurrency')).toMatchObject({ value: 3, origin: 'runtime' });
    await bus.runtime.advance(10_000);
    expect(await bus.members()).toHaveLength(3);
  });

  it('takes other attempts and backoffs, and gives them up with null', async () => {
    bus = await AdminTestBus.started();
    const before = await callsOfOneRecord();
    const keys = { 'retry.tier0.maxAttempts': 3, 'retry.tier0.initialBackoffMs': '10ms' };
    expect((await change(keys)).status).toBe(200);
    expect(await callsOfOneRecord()).toBeGreaterThan(before + 1);
    const kept = await change({ concurrency: 2 });
    expect(optionIn(kept, 'retry.tier0.maxAttempts')).toMatchObject({ value: 3 });
    const ended = await change({ 'retry.tier0.maxAttempts': null });
    expect(optionIn(ended, 'retry.tier0.maxAttempts')).toMatchObject({ value: 1, origin: 'code' });
    expect(optionIn(ended, 'concurrency')).toMatchObject({ value: 2, origin: 'runtime' });
    expect(await callsOfOneRecord()).toBe(before);
  });

  it('keeps both of two changes that are made at once', async () => {
    bus = await AdminTestBus.started();
    const admin = bus.application.get(EventBusAdmin, { strict: false });
    const changes: Record<string, number>[] = [{ concurrency: 2 }, { maxPollRecords: 9 }];
    await bus.done(Promise.all(changes.map((each) => admin.configure('orders', each))));
    const shown = await bus.ask('GET', PATH);
    expect(optionIn(shown, 'concurrency')).toMatchObject({ value: 2, origin: 'runtime' });
    expect(optionIn(shown, 'maxPollRecords')).toMatchObject({ value: 9, origin: 'runtime' });
  });

  it('takes thresholds of the circuit', async () => {
    bus = await AdminTestBus.started();
    await bus.fails('1', '2', '3', '4', '5');
    expect((await bus.ask('GET', 'bindings/orders')).body['circuit']).toBeNull();
    await change({
      'circuitBreaker.enabled': true,
      'circuitBreaker.minimumNumberOfCalls': 3,
      'circuitBreaker.slidingWindowSize': 10,
      'circuitBreaker.waitDurationInOpenStateMs': '10m',
    });
    await bus.fails('6', '7', '8', '9');
    expect(await bus.ask('GET', 'bindings/orders')).toMatchObject({
      body: { circuit: { state: 'OPEN' }, state: 'PAUSED' },
    });
  });

  it('loses and repeats no record when it changes under load', async () => {
    bus = await AdminTestBus.started();
    bus.isCured = true;
    const values = Array.from({ length: 60 }, (_, index) => index);
    for (let first = 0; first < values.length; first += 20) {
      await bus.write('orders', ...values.slice(first, first + 20).map(String));
      await change({ maxPollRecords: first + 1 });
    }
    await bus.runtime.advance(20_000);
    expect(bus.handled).toEqual(values);
  });

  it('leaves a paused binding paused, and a stopped one stopped', async () => {
    bus = await AdminTestBus.started();
    await bus.ask('POST', 'bindings/orders/pause');
    await bus.ask('POST', 'bindings/orders/tiers/1/pause');
    expect(await change({ concurrency: 2 })).toMatchObject({
      body: { state: 'PAUSED', pauses: ['operator'] },
    });
    const { body } = await bus.ask('GET', 'bindings/orders');
    expect(body['containers']).toMatchObject([{}, { tier: 1, pauses: ['operator', 'tier'] }]);
    await bus.ask('POST', 'bindings/orders/stop');
    expect(await change({ concurrency: 1 })).toMatchObject({ body: { state: 'STOPPED' } });
    expect(await bus.ask('POST', 'bindings/orders/start')).toMatchObject({ status: 200 });
  });

  it('is checked as at the start, and a refused change changes nothing', async () => {
    bus = await AdminTestBus.started();
    const before = await bus.ask('GET', PATH);
    for (const changes of [
      { concurrency: 0 },
      { concurrency: 'many' },
      { 'retry.tier0.maxAttempts': 1.5 },
      { 'circuitBreaker.failureRateThreshold': 101 },
      { 'retry.tier0.maxAttempts': 9, 'retry.tier0.initialBackoffMs': '4m' },
      { concurrency: 2, nonsense: 1 },
      { 'retry.tier0': 1 },
    ])
      expect({ changes, status: (await change(changes)).status }).toEqual({ changes, status: 400 });
    expect(await bus.ask('PATCH', PATH, { body: { changes: {} } })).toMatchObject({ status: 400 });
    expect((await bus.ask('GET', PATH)).body).toEqual(before.body);
    expect(await bus.members()).toHaveLength(1);
  });

  it('tells what needs a restart, and changes nothing then', async () => {
    bus = await AdminTestBus.started();
    expect(await change({ topic: 'other', concurrency: 2, groupId: 'x' })).toMatchObject({
      status: 409,
      body: {
        code: 'CONFIGURATION_NEEDS_RESTART',
        detail: expect.stringContaining('topic, groupId') as string,
      },
    });
    expect(optionIn(await bus.ask('GET', PATH), 'concurrency')).toMatchObject({ value: 1 });
  });

  it('is audited, refused changes included', async () => {
    bus = await AdminTestBus.started();
    const told: unknown[] = [];
    bus.application
      .get(EventBusEvents, { strict: false })
      .on('admin.command')
      .subscribe((event) => told.push(event));
    await change({ concurrency: 2 }, 'more load');
    await change({ topic: 'other' });
    await bus.runtime.advance(1_000);
    const common = { command: 'configure', binding: 'orders', by: 'ann' };
    expect(told).toMatchObject([
      { ...common, reason: 'more load', outcome: 'done' },
      { ...common, outcome: 'failed', code: 'CONFIGURATION_NEEDS_RESTART' },
    ]);
  });

  it('of a binding that was registered at run time changes, too', async () => {
    bus = await AdminTestBus.started();
    await bus.topic('second');
    const registered = { name: 'second', topic: 'second', groupId: 'two', handler: 'orders' };
    await bus.ask('POST', 'bindings', { body: { ...registered, provisioning: 'create' } });
    const path = 'bindings/second/configuration';
    const changed = await bus.ask('PATCH', path, { body: { changes: { concurrency: 2 } } });
    expect(optionIn(changed, 'concurrency')).toMatchObject({ value: 2, origin: 'runtime' });
    expect(optionIn(changed, 'groupId')).toMatchObject({ value: 'two', origin: 'code' });
  });

  it('of an unknown binding is 404', async () => {
    bus = await AdminTestBus.started();
    const path = 'bindings/none/configuration';
    expect((await bus.ask('GET', path)).status).toBe(404);
    const body = { changes: { concurrency: 2 } };
    expect((await bus.ask('PATCH', path, { body })).status).toBe(404);
  });
});
