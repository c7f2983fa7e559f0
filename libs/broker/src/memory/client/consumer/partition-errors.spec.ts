import type { PositionReset } from '../../../port/consumer.js';
import { LogTruncatedError, PoisonBatchError, TopicRecreatedError } from '../../../port/errors.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup, type TestMember } from './test-group.spec-support.js';

const first = { topic: 't', partition: 0 };
const valuesOf = (records: readonly { value: Buffer | null }[]) =>
  records.map((r) => String(r.value));

/** Returns the records that arrive within a second, if any. */
async function pollFor(group: TestGroup, { session }: TestMember) {
  const abort = new AbortController();
  const poll = observe(session.poll(1, abort.signal));
  await group.runtime.advance(1_000);
  abort.abort();
  await group.runtime.settle();
  return poll.result ?? [];
}

describe('an error of one partition', () => {
  it.each(['earliest', 'latest'] as const)(
    'log truncation below the position continues at the truncation point and calls onReset: %s',
    async (offsetReset) => {
      const group = new TestGroup();
      const resets: PositionReset[] = [];
      const onReset = (reset: PositionReset): void => void resets.push(reset);
      await group.write('a', 'b');
      const member = await group.join({ offsetReset: 'earliest' });
      expect(valuesOf(await group.poll(member))).toEqual(['a', 'b']);
      await member.session.commit([{ ...first, offset: 2, leaderEpoch: 0 }]);
      await member.session.close();
      const next = await group.join({ offsetReset }, { onReset });
      await group.write('c');
      expect(valuesOf(await group.poll(next))).toEqual(['c']);
      group.broker.faults.truncate(first, 2);
      await group.write('other', 'and more');
      expect(valuesOf(await group.poll(next))).toEqual(['other', 'and more']);
      const reason = 'log-truncated';
      expect(resets).toEqual([{ ...first, from: 3, to: 2, policy: offsetReset, reason }]);
      expect(next.stops).toEqual([]);
    },
  );

  it('log truncation is noticed after a seek too', async () => {
    const group = new TestGroup();
    const resets: PositionReset[] = [];
    const member = await group.join({}, { onReset: (reset) => void resets.push(reset) });
    await group.write('a');
    await group.write('b');
    await group.write('c');
    for (let read = 0; read < 3;) read += (await group.poll(member)).length;
    member.session.pause([first]);
    member.session.seek(first, 2);
    group.broker.faults.truncate(first, 1);
    await group.write('other', 'and more');
    member.session.resume([first]);
    expect(valuesOf(await group.poll(member))).toEqual(['other', 'and more']);
    expect(resets.at(-1)).toMatchObject({ from: 2, to: 1, reason: 'log-truncated' });
  });

  it('log truncation below the position stops the partition with offsetReset none', async () => {
    const group = new TestGroup();
    const setUp = await group.join();
    await setUp.session.commit([{ ...first, offset: 0 }]);
    await setUp.session.close();
    const member = await group.join({ offsetReset: 'none' });
    await group.write('a', 'b');
    await group.write('c');
    expect(valuesOf(await group.poll(member))).toHaveLength(2);
    expect(valuesOf(await group.poll(member))).toEqual(['c']);
    group.broker.faults.truncate(first, 2);
    await group.until(() => member.stops.length === 1);
    expect(member.stops[0]).toBeInstanceOf(LogTruncatedError);
    expect(member.stops[0]).toMatchObject({ offset: 3, agreedEnd: 2 });
    member.session.seek(first, 2);
    await group.write('other');
    expect(valuesOf(await group.poll(member))).toEqual(['other']);
  });

  it('a broken batch stops the partition, and a seek to nextOffset continues', async () => {
    const group = new TestGroup(2);
    for (const value of ['a', 'broken', 'c']) await group.write(value);
    await group.send([{ topic: 't', partition: 1, value: 'other' }]);
    group.broker.faults.corrupt(first, 1);
    const member = await group.join();
    const polled = observe(member.session.poll(1));
    await group.until(() => polled.ended);
    const seen = [...(polled.result ?? [])];
    while (member.stops.length === 0) seen.push(...(await pollFor(group, member)));
    const [error] = member.stops;
    expect(error).toBeInstanceOf(PoisonBatchError);
    expect(error).toMatchObject({ offset: 1, nextOffset: 2 });
    expect(valuesOf(seen).sort()).toEqual(['a', 'other']);
    member.session.seek(first, 2);
    expect(valuesOf(await group.poll(member))).toEqual(['c']);
  });

  it('a recreated topic stops the partition until a seek', async () => {
    const group = new TestGroup();
    await group.write('old');
    const member = await group.join();
    await group.poll(member);
    const { topics } = group.broker.cluster;
    topics.delete('t');
    topics.create({ name: 't' });
    await group.until(() => member.stops.length === 1);
    expect(member.stops[0]).toBeInstanceOf(TopicRecreatedError);
    await group.write('new');
    member.session.seek(first, 0);
    expect(valuesOf(await group.poll(member))).toEqual(['new']);
  });

  it('a missing leader is reported as a status, and no record is lost', async () => {
    const group = new TestGroup();
    const member = await group.join();
    const fault = group.broker.faults.loseLeader('t', 0);
    await group.until(() => member.session.status.state === 'retrying');
    fault.lift();
    await group.write('a');
    expect(valuesOf(await group.poll(member))).toEqual(['a']);
    await group.until(() => member.session.status.state === 'stable');
  });
});
