import type { AdminSession, BrokerDriver } from '@nest-event-bus/broker';
import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';

/** A page that shows a binding must not wait for brokers that do not answer. */
const LONGEST_WAIT_MS = 2_000;

type MainTopic = Pick<ResolvedBinding, 'topic' | 'groupId'>;

/**
 * Counts the records that the group of a binding has not committed. Returns undefined if the brokers
 * do not answer in time, or not at all.
 */
export async function mainTopicLag(
  driver: BrokerDriver,
  binding: MainTopic,
  runtime: Runtime,
): Promise<number | undefined> {
  const giveUp = new AbortController();
  const waited = sleep(runtime, LONGEST_WAIT_MS, giveUp.signal);
  const admin = driver.admin();
  try {
    return await Promise.race([
      lagOf(admin, binding).catch(() => undefined),
      waited.then(
        () => undefined,
        () => undefined,
      ),
    ]);
  } finally {
    giveUp.abort();
    void admin.close().catch(() => undefined);
  }
}

/** A partition without a committed offset lags by all its records. */
async function lagOf(admin: AdminSession, { topic, groupId }: MainTopic): Promise<number> {
  const [marks, committed] = await Promise.all([
    admin.watermarks(topic),
    admin.groupOffsets(groupId, [topic]),
  ]);
  return marks.reduce((sum, { partition, low, high }) => {
    const offset = committed.find((each) => each.partition === partition)?.offset ?? low;
    return sum + Math.max(0, high - Math.max(low, offset));
  }, 0);
}
