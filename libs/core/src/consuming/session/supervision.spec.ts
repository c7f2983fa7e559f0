import {
  AuthorizationError,
  StaticMemberFencedError,
  type BrokerDriver,
} from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, reconciles, upTo, watched } from './consuming-test-bed.spec-support.js';

describe('SupervisedSession', () => {
  let testBed: ConsumingTestBed;

  afterEach(() => testBed.end());

  it('waits for a missing topic, and shows it in its status', async () => {
    testBed = new ConsumingTestBed();
    const member = testBed.session();
    const started = watched(member.session.start());
    await testBed.until(() => member.session.status.state === 'retrying');
    expect(member.session.status.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(started.ended).toBe(false);
    await testBed.done(member.driver.admin().createTopics([{ name: 't', partitions: 1 }]));
    await testBed.until(() => started.ended);
    await testBed.until(() => member.session.status.state === 'joined');
    await testBed.write(1);
    await testBed.untilCommitted(1);
  });

  it('replaces a consumer session that failed for good, and loses no record', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(10);
    const member = await testBed.started(() => succeeded, { clientId: 'mine' });
    await testBed.untilCommitted(10);
    const denied = new AuthorizationError('Not allowed any more.');
    const fault = testBed.broker.faults.refuse({ clientId: 'mine', operation: 'fetch' }, denied);
    await testBed.write(10);
    await testBed.until(() => member.session.status.state === 'retrying');
    expect(member.session.status.error).toMatchObject({ code: 'AUTHORIZATION' });
    fault.lift();
    await testBed.until(() => member.session.status.state === 'joined');
    await testBed.untilCommitted(20);
    expect(member.offsets()).toEqual(upTo(20));
  });

  it('tries again rarely after an error that only an operator can repair', async () => {
    testBed = await ConsumingTestBed.of(1);
    const real = memory({ broker: testBed.broker });
    let [attempts, isDenied] = [0, true];
    const consumer: BrokerDriver['consumer'] = (options) => {
      attempts++;
      if (isDenied) throw new AuthorizationError('Not allowed.');
      return real.consumer(options);
    };
    const driver = Object.assign(Object.create(real) as BrokerDriver, { consumer });
    const member = testBed.session(undefined, { driver });
    const started = watched(member.session.start());
    await testBed.until(() => member.session.status.state === 'retrying');
    await testBed.runtime.advance(95_000);
    expect(attempts).toBe(4);
    isDenied = false;
    await testBed.until(() => started.ended);
    expect(started.error).toBeUndefined();
    expect(member.session.status.state).toBe('joined');
    expect(member.session.status).not.toHaveProperty('error');
  });

  describe('whose static member id is taken by another process', () => {
    const consumer = { groupInstanceId: 'orders-0' };
    const fenced = { state: 'failed', error: { code: 'STATIC_MEMBER_FENCED' } };

    it('fails permanently, and does not take the id back', async () => {
      testBed = await ConsumingTestBed.of(1);
      const first = await testBed.started(() => succeeded, { consumer });
      await testBed.write(3);
      await testBed.untilCommitted(3);
      const second = await testBed.started(() => succeeded, { consumer });
      await testBed.until(() => first.session.status.state === 'failed');
      await testBed.runtime.advance(300_000);
      expect(first.session.status).toMatchObject({ ...fenced, assignment: [] });
      expect(first.log.filter(({ message }) => message.includes('stays down'))).toMatchObject([
        { level: 'error', context: { groupInstanceId: 'orders-0' } },
      ]);
      expect(second.session.status.state).toBe('joined');
      await testBed.write(3);
      await testBed.untilCommitted(6);
      expect(second.offsets()).toEqual([3, 4, 5]);
    });

    it('rejects start() if the id was taken before the session joined', async () => {
      testBed = await ConsumingTestBed.of(1);
      const real = memory({ broker: testBed.broker });
      const consumer: BrokerDriver['consumer'] = () => {
        throw new StaticMemberFencedError('Another process has it.');
      };
      const driver = Object.assign(Object.create(real) as BrokerDriver, { consumer });
      const member = testBed.session(undefined, { driver });
      const started = watched(member.session.start());
      await testBed.until(() => started.ended);
      expect(started.error).toBeInstanceOf(StaticMemberFencedError);
      expect(member.session.status).toMatchObject(fenced);
    });

    it('drains its handlers and closes normally', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const gate = new Deferred<Outcome>();
      const first = await testBed.started(() => gate.promise, { consumer });
      await testBed.until(() => first.handled.length === 1);
      await testBed.started(() => succeeded, { consumer });
      await testBed.until(() => first.session.status.state === 'failed');
      const drained = watched(first.session.close({ drainMs: 20_000 }));
      await testBed.runtime.advance(1_000);
      expect(drained.ended).toBe(false);
      gate.resolve(succeeded);
      await testBed.until(() => drained.ended);
      expect(first.session.status.state).toBe('closed');
    });
  });

  it('stays paused when its consumer session is replaced', async () => {
    testBed = await ConsumingTestBed.of(1);
    const member = await testBed.started(() => succeeded, { clientId: 'mine' });
    await testBed.done(member.session.pause('operator'));
    const denied = new AuthorizationError('Not allowed any more.');
    const heartbeats = { clientId: 'mine', operation: 'heartbeat' } as const;
    testBed.broker.faults.refuse(heartbeats, denied, { times: 1 });
    await testBed.until(() => member.session.status.state === 'retrying');
    await testBed.until(() => member.session.status.state === 'joined');
    await testBed.write(1);
    await testBed.runtime.advance(10_000);
    expect(member.handled).toEqual([]);
    member.session.resume('operator');
    await testBed.untilCommitted(1);
  });

  it.each([
    ['before the handler has ended', 0],
    ['between the handler and its commit', 1],
  ])('redelivers the unfinished record of a consumer session that fails %s', async (_, ending) => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    const gate = new Deferred<Outcome>();
    const first = await testBed.started(
      ({ record }) => (record.offset === 1 ? gate.promise : succeeded),
      { clientId: 'dying' },
    );
    await testBed.until(() => first.handled.length === 2);
    await testBed.untilCommitted(1);
    // All requests of the client are lost from now on, as after a killed process.
    testBed.broker.faults.loseRequests({ clientId: 'dying' });
    if (ending === 1) gate.resolve(succeeded);
    await testBed.runtime.settle();
    const second = await testBed.started();
    await testBed.untilCommitted(3);
    expect(second.offsets()).toEqual([1, 2]);
  });

  it('waits in close() for handlers of a failed consumer session, and names their records', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(1);
    const gate = new Deferred<Outcome>();
    const member = await testBed.started(() => gate.promise, { clientId: 'mine' });
    await testBed.until(() => member.handled.length === 1);
    const denied = new AuthorizationError('Not allowed any more.');
    const heartbeats = { clientId: 'mine', operation: 'heartbeat' } as const;
    testBed.broker.faults.refuse(heartbeats, denied, { times: 1 });
    await testBed.until(() => member.session.status.assignment.length === 0);
    const before = testBed.runtime.monotonic();
    const report = await testBed.done(member.session.close({ drainMs: 3_000 }));
    expect(report).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
    expect(testBed.runtime.monotonic() - before).toBeGreaterThanOrEqual(3_000);
    gate.resolve(succeeded);
  });

  it('recovers if its driver was closed, and redelivers what was not committed', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    const driver = memory({ broker: testBed.broker });
    const gate = new Deferred<Outcome>();
    const first = await testBed.started(
      ({ record }) => (record.offset === 1 ? gate.promise : succeeded),
      { driver },
    );
    await testBed.until(() => first.handled.length === 2);
    const closing = driver.close();
    await testBed.done(closing);
    gate.resolve(succeeded);
    await testBed.until(() => first.session.status.state === 'retrying');
    expect(first.session.status.error).toMatchObject({ code: 'CLOSED' });
    const second = await testBed.started();
    await testBed.untilCommitted(3);
    expect(second.offsets()).toEqual([1, 2]);
    expect(first.session.counts).toMatchObject({ succeeded: 2, inFlight: 0 });
    expect(reconciles(first.session.counts)).toBe(true);
  });

  it('repeats a commit until it is stored, while handlers continue', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(20);
    const operation = 'commit';
    const fault = testBed.broker.faults.refuse(
      { operation, clientId: 'mine' },
      'COORDINATOR_LOAD_IN_PROGRESS',
    );
    const member = await testBed.started(() => succeeded, { clientId: 'mine' });
    await testBed.until(() => member.handled.length === 20);
    await testBed.runtime.advance(90_000);
    expect(member.session.status.state).toBe('retrying');
    fault.lift();
    await testBed.untilCommitted(20);
    await testBed.until(() => member.session.status.state === 'joined');
    expect(member.offsets()).toEqual(upTo(20));
  });

  it('logs once that a handler runs too long, with the position and without the payload', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(1);
    const member = await testBed.started(() => new Promise<Outcome>(() => undefined));
    await testBed.until(() => member.handled.length === 1);
    const since = testBed.runtime.now();
    await testBed.runtime.advance(60_500);
    const warnings = member.log.filter(({ message }) =>
      message.includes('its record is delivered'),
    );
    expect(warnings).toMatchObject([
      { level: 'warn', context: { topic: 't', partition: 0, offset: 0, runningMs: 60_000 } },
    ]);
    expect(Math.abs((member.session.status.oldestHandlerSince ?? 0) - since)).toBeLessThanOrEqual(
      20,
    );
    expect(member.session.status.runningHandlers).toBe(1);
    expect(JSON.stringify(member.log)).not.toContain('secret');
  });

  it('shows a partition that the driver cannot read, and reads the other partitions', async () => {
    testBed = await ConsumingTestBed.of(2);
    await testBed.write(3, 1);
    await testBed.done(
      testBed
        .session()
        .driver.admin()
        .setGroupOffsets('g', [{ topic: 't', partition: 1, offset: 0 }]),
    );
    const member = await testBed.started(undefined, { consumer: { offsetReset: 'none' } });
    await testBed.untilCommitted(3, 1);
    expect(member.session.status.partitionPauses).toMatchObject([
      { partition: 0, reasons: [], error: { code: 'NO_OFFSET' } },
    ]);
  });

  it('reads a damaged batch again once it is intact, also after a pause', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    await testBed.write(3);
    testBed.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    const member = await testBed.started();
    await testBed.untilCommitted(3);
    await testBed.done(member.session.pause('operator'));
    await testBed.runtime.advance(40_000);
    testBed.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    member.session.resume('operator');
    await testBed.untilCommitted(6);
    expect(member.offsets()).toEqual(upTo(6));
    expect(member.session.status.partitionPauses).toEqual([]);
  });

  it('skips no record before a batch that is read again, however slow the broker is', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    await testBed.write(3);
    testBed.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    const gate = new Deferred<Outcome>();
    const member = await testBed.started(({ record, history: { redeliveries } }) =>
      record.offset === 1 && redeliveries === 0 ? gate.promise : succeeded,
    );
    await testBed.until(() => member.session.status.partitionPauses.length > 0);
    await testBed.runtime.advance(28_000);
    testBed.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    // The record is read again a second later, so that its answer arrives at about the end of the
    // 30 s.
    testBed.broker.faults.delayAnswers({ operation: 'fetch' }, 3_000, { times: 1 });
    gate.resolve({ kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no') });
    await testBed.untilCommitted(6);
    expect(member.offsets()).toEqual([0, 1, 1, 2, 3, 4, 5]);
  });

  it('commits no more in a recreated topic, in which its offsets belong to other records', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    const gate = new Deferred<Outcome>();
    const member = await testBed.started(({ record }) =>
      record.offset === 1 ? gate.promise : succeeded,
    );
    await testBed.until(() => member.handled.length === 2);
    await testBed.untilCommitted(1);
    const admin = member.driver.admin();
    await testBed.done(admin.deleteTopics(['t']));
    await testBed.done(admin.createTopics([{ name: 't', partitions: 1 }]));
    await testBed.write(5);
    await testBed.until(() => member.session.status.partitionPauses.length > 0);
    expect(member.session.status.partitionPauses).toMatchObject([
      { reasons: [], error: { code: 'TOPIC_RECREATED' } },
    ]);
    gate.resolve(succeeded);
    await testBed.runtime.advance(60_000);
    expect(member.offsets()).toEqual([0, 1, 2]);
    await testBed.done(member.session.close());
    expect(await testBed.committed()).toBeUndefined();
    const next = await testBed.started();
    await testBed.untilCommitted(5);
    expect(next.offsets()).toEqual(upTo(5));
  });

  it('notifies status listeners, even if one of them throws', async () => {
    testBed = await ConsumingTestBed.of(1);
    const member = testBed.session();
    const states: string[] = [];
    member.session.onStatusChange(() => {
      throw new Error('listener');
    });
    const stop = member.session.onStatusChange(() => {
      const { state } = member.session.status;
      if (states.at(-1) !== state) states.push(state);
    });
    await testBed.done(member.session.start());
    await testBed.until(() => states.at(-1) === 'joined');
    const closing = member.session.close({ drainMs: 1_000 });
    stop();
    await testBed.done(closing);
    expect(states).toEqual(['joining', 'joined', 'draining']);
  });
});
