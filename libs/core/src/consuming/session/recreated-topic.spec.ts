import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, upTo } from './consuming-test-bed.spec-support.js';

describe('a topic that is deleted and created again while it is read', () => {
  let testBed: ConsumingTestBed;
  beforeEach(async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(5);
  });
  afterEach(() => testBed.end());

  const tier = { onTopicRecreated: 'earliest', settings: { maxPollRecords: 50 } } as const;

  it('pauses its partition until an operator decides', async () => {
    const main = await testBed.started();
    await testBed.untilCommitted(5);
    await testBed.recreate();
    await testBed.write(7);
    await testBed.runtime.advance(120_000);
    expect(main.offsets()).toEqual(upTo(5));
    expect(main.session.status.partitionPauses).toMatchObject([
      { error: { code: 'TOPIC_RECREATED' } },
    ]);
  });

  it('is read from its beginning, with a warning, if only the event bus writes to it', async () => {
    const member = await testBed.started(undefined, tier);
    await testBed.untilCommitted(5);
    await testBed.recreate();
    await testBed.write(7);
    await testBed.untilCommitted(7);
    expect(member.offsets()).toEqual([...upTo(5), ...upTo(7)]);
    expect(member.session.status.partitionPauses).toEqual([]);
    expect(member.log.filter(({ message }) => message.includes('created again'))).toMatchObject([
      { level: 'warn', context: { topic: 't', partition: 0 } },
    ]);
  });

  it('is read from its beginning each time that it is recreated', async () => {
    const member = await testBed.started(undefined, tier);
    await testBed.untilCommitted(5);
    for (const count of [6, 7, 8]) {
      await testBed.recreate();
      await testBed.write(count);
      await testBed.untilCommitted(count);
    }
    expect(member.offsets()).toEqual([5, 6, 7, 8].flatMap((count) => upTo(count)));
  });

  it('reports the records of the deleted topic that are lost because its running record failed', async () => {
    const gate = new Deferred<Outcome>();
    const answers: Promise<Outcome>[] = [gate.promise];
    const member = await testBed.started(() => answers.pop() ?? succeeded, tier);
    await testBed.until(() => member.handled.length === 1);
    await testBed.recreate();
    await testBed.write(7);
    await testBed.runtime.advance(5_000);
    gate.resolve({ kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('not now') });
    await testBed.untilCommitted(7);
    expect(member.offsets()).toEqual([0, ...upTo(7)]);
    expect(member.log.filter(({ message }) => message.includes('went with'))).toMatchObject([
      { level: 'error', context: { topic: 't', partition: 0, from: 0, to: 4 } },
    ]);
  });

  it('is read once the running records of the deleted topic are done', async () => {
    const gate = new Deferred<Outcome>();
    const answers: Promise<Outcome>[] = [gate.promise];
    const member = await testBed.started(() => answers.pop() ?? succeeded, tier);
    await testBed.until(() => member.handled.length === 1);
    await testBed.recreate();
    await testBed.write(7);
    await testBed.runtime.advance(30_000);
    expect(member.offsets()).toEqual([0]);
    gate.resolve(succeeded);
    await testBed.untilCommitted(7);
    expect(member.offsets()).toEqual([...upTo(5), ...upTo(7)]);
  });

  it('starts with a commit of offset 0, because a late commit for the deleted topic would hide records', async () => {
    const old = new Deferred<Outcome>();
    const another = new Deferred<Outcome>();
    const stored: number[] = [];
    const member = await testBed.started(
      () => (stored.includes(0) ? another : old).promise,
      // The buffer is full, so nothing is fetched, and the recreation is noticed only when a record
      // is done.
      { ...tier, settings: { maxPollRecords: 1 }, onCommit: (offset) => stored.push(offset) },
    );
    await testBed.until(() => member.handled.length === 1);
    await testBed.recreate();
    await testBed.write(7);
    old.resolve(succeeded);
    await testBed.until(() => stored.includes(0));
    expect(stored.filter((offset) => offset > 0)).not.toEqual([]);
    expect(await testBed.committed()).toBe(0);
    another.resolve(succeeded);
    await testBed.untilCommitted(7);
  });

  it('is not read by a member whose partition is being revoked', async () => {
    await testBed.recreate(2);
    await testBed.write(5, 0);
    await testBed.write(1, 1);
    const gate = new Deferred<Outcome>();
    const answer = ({ record }: Delivery) => (record.partition === 1 ? gate.promise : succeeded);
    const first = await testBed.started(answer, tier);
    await testBed.untilCommitted(5);
    const second = testBed.session(undefined, tier);
    const joined = testBed.done(second.session.start());
    await testBed.recreate(2);
    await testBed.runtime.advance(9_000);
    gate.resolve(succeeded);
    await joined;
    await testBed.runtime.advance(10_000);
    const owned = [first, second].flatMap(({ session }) => session.status.assignment);
    expect(owned.map(({ partition }) => partition).toSorted((one, other) => one - other)).toEqual([
      0, 1,
    ]);
    await testBed.write(7, 0);
    await testBed.untilCommitted(7, 0);
  });
});
