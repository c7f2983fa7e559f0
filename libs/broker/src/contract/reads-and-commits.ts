import assert from 'node:assert/strict';
import type { Member } from './member.js';
import { numbered } from './test-values.js';
import { partitionName } from '../port/topic-partition.js';
import type { CaseContext } from './case-context.js';

/** The upper limit for the median commit time, generous enough for a busy machine. */
const COMMIT_MS = 100;

/**
 * Writes to a kept partition, reads and commits, ten times. The machine may delay a single commit,
 * but no commit waits for the rebalance of other members.
 */
export async function readsAndCommits(
  context: CaseContext,
  member: Member,
  topic: string,
): Promise<void> {
  const revoked = new Set(member.eventsOf('revoked'));
  const stays = member.session.assignment().find((each) => !revoked.has(partitionName(each)));
  assert.ok(stays);
  const took: number[] = [];
  for (const value of numbered(10)) {
    const [written] = await context.write(topic, [value], stays.partition);
    assert.deepEqual(await member.readValues(1), [value]);
    const before = context.runtime.monotonic();
    const offset = Number(written?.offset) + 1;
    await context.within(member.session.commit([{ ...stays, offset }]), 'the commit');
    took.push(context.runtime.monotonic() - before);
  }
  const [median = Infinity, longest = Infinity] = [5, 9].map(
    (rank) => took.toSorted((left, right) => left - right)[rank],
  );
  const tooLong = context.times.rebalanceTimeoutMs / 2;
  assert.ok(median <= COMMIT_MS && longest < tooLong, `the commits took ${took.join(' ')} ms`);
}
