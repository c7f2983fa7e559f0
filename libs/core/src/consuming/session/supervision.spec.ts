import {
  AuthorizationError,
  StaticMemberFencedError,
  type BrokerDriver,
} from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import {
  GROUP,
  IntakeWorld,
  TOPIC,
  reconciles,
  upTo,
  watched,
  type Handle,
} from './intake-world.spec-support.js';

describe('an intake session', () => {
  let world: IntakeWorld;

  afterEach(() => world.end());

  it('waits for a topic that is missing, and says so', async () => {
    world = new IntakeWorld();
    const member = world.intake();
    const started = watched(member.intake.start());
    await world.until(() => member.intake.status.state === 'retrying');
    expect(member.intake.status.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(started.ended).toBe(false);
    await world.done(member.driver.admin().createTopics([{ name: 't', partitions: 1 }]));
    await world.until(() => started.ended);
    await world.until(() => member.intake.status.state === 'joined');
    await world.write(1);
    await world.untilCommitted(1);
  });

  it('replaces a consumer session that failed for good, and loses nothing', async () => {
    world = await IntakeWorld.of(1);
    await world.write(10);
    const member = await world.started(() => succeeded, { clientId: 'mine' });
    await world.untilCommitted(10);
    const denied = new AuthorizationError('Not allowed any more.');
    const fault = world.broker.faults.refuse({ clientId: 'mine', operation: 'fetch' }, denied);
    await world.write(10);
    await world.until(() => member.intake.status.state === 'retrying');
    expect(member.intake.status.error).toMatchObject({ code: 'AUTHORIZATION' });
    fault.lift();
    await world.until(() => member.intake.status.state === 'joined');
    await world.untilCommitted(20);
    expect(member.offsets()).toEqual(upTo(20));
  });

  it('asks rarely what only an operator can mend', async () => {
    world = await IntakeWorld.of(1);
    const real = memory({ broker: world.broker });
    let [attempts, isDenied] = [0, true];
    const consumer: BrokerDriver['consumer'] = (options) => {
      attempts++;
      if (isDenied) throw new AuthorizationError('Not allowed.');
      return real.consumer(options);
    };
    const driver = Object.assign(Object.create(real) as BrokerDriver, { consumer });
    const member = world.intake(undefined, { driver });
    const started = watched(member.intake.start());
    await world.until(() => member.intake.status.state === 'retrying');
    await world.runtime.advance(95_000);
    expect(attempts).toBe(4);
    isDenied = false;
    await world.until(() => started.ended);
    expect(started.error).toBeUndefined();
    expect(member.intake.status.state).toBe('joined');
    expect(member.intake.status).not.toHaveProperty('error');
  });

  describe('whose static member id another process takes', () => {
    const consumer = { groupInstanceId: 'orders-0' };
    const fenced = { state: 'failed', error: { code: 'STATIC_MEMBER_FENCED' } };

    it('stays down, and does not take the id back', async () => {
      world = await IntakeWorld.of(1);
      const first = await world.started(() => succeeded, { consumer });
      await world.write(3);
      await world.untilCommitted(3);
      const second = await world.started(() => succeeded, { consumer });
      await world.until(() => first.intake.status.state === 'failed');
      await world.runtime.advance(300_000);
      expect(first.intake.status).toMatchObject({ ...fenced, assignment: [] });
      expect(first.log.filter(({ message }) => message.includes('stays down'))).toMatchObject([
        { level: 'error', context: { groupInstanceId: 'orders-0' } },
      ]);
      expect(second.intake.status.state).toBe('joined');
      await world.write(3);
      await world.untilCommitted(6);
      expect(second.offsets()).toEqual([3, 4, 5]);
    });

    it('has not joined when that happens before', async () => {
      world = await IntakeWorld.of(1);
      const real = memory({ broker: world.broker });
      const consumer: BrokerDriver['consumer'] = () => {
        throw new StaticMemberFencedError('Another process has it.');
      };
      const driver = Object.assign(Object.create(real) as BrokerDriver, { consumer });
      const member = world.intake(undefined, { driver });
      const started = watched(member.intake.start());
      await world.until(() => started.ended);
      expect(started.error).toBeInstanceOf(StaticMemberFencedError);
      expect(member.intake.status).toMatchObject(fenced);
    });

    it('is drained and closed as any other', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const gate = new Deferred<Outcome>();
      const first = await world.started(() => gate.promise, { consumer });
      await world.until(() => first.handled.length === 1);
      await world.started(() => succeeded, { consumer });
      await world.until(() => first.intake.status.state === 'failed');
      const drained = watched(first.intake.drain(20_000));
      await world.runtime.advance(1_000);
      expect(drained.ended).toBe(false);
      gate.resolve(succeeded);
      await world.until(() => drained.ended);
      await world.done(first.intake.close());
      expect(first.intake.status.state).toBe('closed');
    });
  });

  it('keeps its pauses over a replacement', async () => {
    world = await IntakeWorld.of(1);
    const member = await world.started(() => succeeded, { clientId: 'mine' });
    await world.done(member.intake.pause('operator'));
    const denied = new AuthorizationError('Not allowed any more.');
    const heartbeats = { clientId: 'mine', operation: 'heartbeat' } as const;
    world.broker.faults.refuse(heartbeats, denied, { times: 1 });
    await world.until(() => member.intake.status.state === 'retrying');
    await world.until(() => member.intake.status.state === 'joined');
    await world.write(1);
    await world.runtime.advance(10_000);
    expect(member.handled).toEqual([]);
    member.intake.resume('operator');
    await world.untilCommitted(1);
  });

  it.each([
    ['before the handler has ended', 0],
    ['between the handler and its commit', 1],
  ])('that dies %s leaves the record to the next one', async (_, ending) => {
    world = await IntakeWorld.of(1);
    await world.write(3);
    const gate = new Deferred<Outcome>();
    const first = await world.started(
      ({ record }) => (record.offset === 1 ? gate.promise : succeeded),
      { clientId: 'dying' },
    );
    await world.until(() => first.handled.length === 2);
    await world.untilCommitted(1);
    // As a process that is killed: nothing it sends from here on arrives.
    world.broker.faults.loseRequests({ clientId: 'dying' });
    if (ending === 1) gate.resolve(succeeded);
    await world.runtime.settle();
    const second = await world.started();
    await world.untilCommitted(3);
    expect(second.offsets()).toEqual([1, 2]);
  });

  it('waits in a drain for what still runs of a session that failed, and names what it leaves', async () => {
    world = await IntakeWorld.of(1);
    await world.write(1);
    const gate = new Deferred<Outcome>();
    const member = await world.started(() => gate.promise, { clientId: 'mine' });
    await world.until(() => member.handled.length === 1);
    const denied = new AuthorizationError('Not allowed any more.');
    const heartbeats = { clientId: 'mine', operation: 'heartbeat' } as const;
    world.broker.faults.refuse(heartbeats, denied, { times: 1 });
    await world.until(() => member.intake.status.assignment.length === 0);
    const before = world.runtime.monotonic();
    const report = await world.done(member.intake.drain(3_000));
    expect(report).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
    expect(world.runtime.monotonic() - before).toBeGreaterThanOrEqual(3_000);
    gate.resolve(succeeded);
  });

  it('survives its driver being closed under it: what was not committed comes again', async () => {
    world = await IntakeWorld.of(1);
    await world.write(3);
    const driver = memory({ broker: world.broker });
    const gate = new Deferred<Outcome>();
    const first = await world.started(
      ({ record }) => (record.offset === 1 ? gate.promise : succeeded),
      { driver },
    );
    await world.until(() => first.handled.length === 2);
    const closing = driver.close();
    await world.done(closing);
    gate.resolve(succeeded);
    await world.until(() => first.intake.status.state === 'retrying');
    expect(first.intake.status.error).toMatchObject({ code: 'CLOSED' });
    const second = await world.started();
    await world.untilCommitted(3);
    expect(second.offsets()).toEqual([1, 2]);
    expect(first.intake.counts).toMatchObject({ succeeded: 2, inFlight: 0 });
    expect(reconciles(first.intake.counts)).toBe(true);
  });

  it('retries a commit until it is stored, while handlers go on', async () => {
    world = await IntakeWorld.of(1);
    await world.write(20);
    const operation = 'commit';
    const fault = world.broker.faults.refuse(
      { operation, clientId: 'mine' },
      'COORDINATOR_LOAD_IN_PROGRESS',
    );
    const member = await world.started(() => succeeded, { clientId: 'mine' });
    await world.until(() => member.handled.length === 20);
    await world.runtime.advance(90_000);
    expect(member.intake.status.state).toBe('retrying');
    fault.lift();
    await world.untilCommitted(20);
    await world.until(() => member.intake.status.state === 'joined');
    expect(member.offsets()).toEqual(upTo(20));
  });

  it('tells once of a handler that runs for too long, by position and without its payload', async () => {
    world = await IntakeWorld.of(1);
    await world.write(1);
    const member = await world.started(() => new Promise<Outcome>(() => undefined));
    await world.until(() => member.handled.length === 1);
    const since = world.runtime.now();
    await world.runtime.advance(60_500);
    const told = member.log.filter(({ message }) => message.includes('its record is delivered'));
    expect(told).toMatchObject([
      { level: 'warn', context: { topic: 't', partition: 0, offset: 0, runningMs: 60_000 } },
    ]);
    expect(Math.abs((member.intake.status.oldestHandlerSince ?? 0) - since)).toBeLessThanOrEqual(
      20,
    );
    expect(member.intake.status.runningHandlers).toBe(1);
    expect(JSON.stringify(member.log)).not.toContain('secret');
  });

  it('shows a partition that the driver cannot read, and goes on with the others', async () => {
    world = await IntakeWorld.of(2);
    await world.write(3, 1);
    await world.done(
      world
        .intake()
        .driver.admin()
        .setGroupOffsets('g', [{ topic: 't', partition: 1, offset: 0 }]),
    );
    const member = await world.started(undefined, { consumer: { offsetReset: 'none' } });
    await world.untilCommitted(3, 1);
    expect(member.intake.status.partitionPauses).toMatchObject([
      { partition: 0, reasons: [], error: { code: 'NO_OFFSET' } },
    ]);
  });

  it('reads a batch that was broken on its way once it is whole, also after a pause', async () => {
    world = await IntakeWorld.of(1);
    await world.write(3);
    await world.write(3);
    world.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    const member = await world.started();
    await world.untilCommitted(3);
    await world.done(member.intake.pause('operator'));
    await world.runtime.advance(40_000);
    world.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    member.intake.resume('operator');
    await world.untilCommitted(6);
    expect(member.offsets()).toEqual(upTo(6));
    expect(member.intake.status.partitionPauses).toEqual([]);
  });

  it('leaves nothing out before a batch that is read again, however slow the broker is', async () => {
    world = await IntakeWorld.of(1);
    await world.write(3);
    await world.write(3);
    world.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    const gate = new Deferred<Outcome>();
    const member = await world.started(({ record, redeliveries }) =>
      record.offset === 1 && redeliveries === 0 ? gate.promise : succeeded,
    );
    await world.until(() => member.intake.status.partitionPauses.length > 0);
    await world.runtime.advance(28_000);
    world.broker.faults.corrupt({ topic: 't', partition: 0 }, 3);
    // The record is read again a second later: its answer and the end of the 30 s cross.
    world.broker.faults.delayAnswers({ operation: 'fetch' }, 3_000, { times: 1 });
    gate.resolve({ kind: 'failed', error: new Error('no') });
    await world.untilCommitted(6);
    expect(member.offsets()).toEqual([0, 1, 1, 2, 3, 4, 5]);
  });

  it('commits nothing more in a topic that was created anew: the offsets were those of the old one', async () => {
    world = await IntakeWorld.of(1);
    await world.write(3);
    const gate = new Deferred<Outcome>();
    const member = await world.started(({ record }) =>
      record.offset === 1 ? gate.promise : succeeded,
    );
    await world.until(() => member.handled.length === 2);
    await world.untilCommitted(1);
    const admin = member.driver.admin();
    await world.done(admin.deleteTopics(['t']));
    await world.done(admin.createTopics([{ name: 't', partitions: 1 }]));
    await world.write(5);
    await world.until(() => member.intake.status.partitionPauses.length > 0);
    expect(member.intake.status.partitionPauses).toMatchObject([
      { reasons: [], error: { code: 'TOPIC_RECREATED' } },
    ]);
    gate.resolve(succeeded);
    await world.runtime.advance(60_000);
    expect(member.offsets()).toEqual([0, 1, 2]);
    await world.done(member.intake.close());
    expect(await world.committed()).toBeUndefined();
    const next = await world.started();
    await world.untilCommitted(5);
    expect(next.offsets()).toEqual(upTo(5));
  });

  describe('a log that was cut back behind records that are at work', () => {
    /** Of five records the handler is at 2; then the log ends at 3, and five others are written. */
    async function cutBack(offsetReset: 'earliest' | 'none') {
      await world.write(3);
      await world.write(2);
      const gate = new Deferred<Outcome>();
      const handle: Handle = ({ record }) => (record.offset === 2 ? gate.promise : succeeded);
      const member = world.intake(handle, { consumer: { offsetReset } });
      await world.done(
        member.driver.admin().setGroupOffsets(GROUP, [{ topic: TOPIC, partition: 0, offset: 0 }]),
      );
      await world.done(member.intake.start());
      await world.untilCommitted(2);
      await world.until(() => member.intake.counts.received === 5);
      const fault = world.broker.faults.refuse({ operation: 'fetch' }, 'NOT_LEADER_OR_FOLLOWER');
      await world.runtime.advance(10_000);
      world.broker.faults.truncate({ topic: TOPIC, partition: 0 }, 3);
      await world.write(5);
      fault.lift();
      return { member, gate };
    }

    it('is read on from there: what was not cut off and is not done comes again', async () => {
      world = await IntakeWorld.of(1);
      const { member, gate } = await cutBack('earliest');
      await world.until(() => member.log.some(({ context }) => context['reason'] !== undefined));
      expect(member.log.find(({ context }) => context['reason'] !== undefined)).toMatchObject({
        level: 'warn',
        context: { topic: TOPIC, partition: 0, from: 5, to: 3, reason: 'log-truncated' },
      });
      await world.runtime.advance(1_000);
      expect(await world.committed()).toBe(2);
      gate.resolve(succeeded);
      await world.untilCommitted(8);
      expect(member.offsets()).toEqual([0, 1, 2, ...upTo(6, 2)]);
      expect(reconciles(member.intake.counts)).toBe(true);
    });

    it('commits nothing more where the policy is none: others stand where its records stood', async () => {
      world = await IntakeWorld.of(1);
      const { member, gate } = await cutBack('none');
      await world.until(() => member.intake.status.partitionPauses.length > 0);
      expect(member.intake.status.partitionPauses).toMatchObject([
        { error: { code: 'LOG_TRUNCATED' } },
      ]);
      gate.resolve(succeeded);
      await world.until(() => member.handled.length === 5);
      await world.done(member.intake.close());
      const next = await world.started();
      await world.untilCommitted(8);
      expect(next.offsets()).toEqual(upTo(6, 2));
    });
  });

  it('tells whoever listens, and is not disturbed by a listener that throws', async () => {
    world = await IntakeWorld.of(1);
    const member = world.intake();
    const states: string[] = [];
    member.intake.onStatus(() => {
      throw new Error('listener');
    });
    const stop = member.intake.onStatus(({ state }) => {
      if (states.at(-1) !== state) states.push(state);
    });
    await world.done(member.intake.start());
    await world.until(() => states.at(-1) === 'joined');
    await world.done(member.intake.drain(1_000));
    stop();
    await world.done(member.intake.close());
    expect(states).toEqual(['joining', 'joined', 'draining']);
  });
});
