import assert from 'node:assert/strict';
import type { Member } from './member.js';
import { numbered } from './test-values.js';
import { partitionName } from '../port/topic-partition.js';
import type { CaseContext } from './case-context.js';

/** What the broker answers a commit in, on an idle machine, with room for a busy one. */
const COMMIT_MS = 100;

/**
 * Writes to what the member keeps, reads it and commits it, ten times over. A single commit may be
 * held up by the machine, but none waits for a rebalance that others hold up.
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
