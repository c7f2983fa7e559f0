import type { ConsumerSession } from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import type { Handled } from './completeness.js';
import type { Position } from './member-messages.js';

/** A busy machine may need this long. */
const READ_TIMEOUT_MS = 20_000;

/** Reads all records behind the committed offsets in another process, after all members have ended. */
export async function readFromCommitted(
  session: ConsumerSession,
  committed: readonly Position[],
  written: readonly (readonly number[])[],
): Promise<readonly Handled[]> {
  const outstanding = written.reduce((sum, offsets, partition) => {
    const from = committed.find((each) => each.partition === partition)?.offset ?? 0;
    return sum + offsets.filter((offset) => offset >= from).length;
  }, 0);
  const givenUp = new AbortController();
  const read: Handled[] = [];
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  const timer = realRuntime.setTimer(() => givenUp.abort(), READ_TIMEOUT_MS);
  while (read.length < outstanding && !givenUp.signal.aborted) {
    const records = await session.poll(500, givenUp.signal).catch(() => []);
    for (const { partition, offset, value } of records)
      read.push({ partition, offset, number: Number(value) });
  }
  timer.cancel();
  await session.close();
  return read;
}
