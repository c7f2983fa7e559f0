import { RefusedError } from '../../port/errors.js';
import { lookUpOffsets } from '../offsets/offset-lookup.js';
import { EARLIEST, metadataRequest } from '../../wire/index.js';
import { Retry, type AdminCall } from './admin-call.js';

const UNKNOWN_TOPIC = 3;

/**
 * Waits until all leaders of the topics return the start offsets of their logs. The controller
 * answers before the brokers host the new partitions.
 */
export async function waitUntilReady(
  call: AdminCall,
  names: readonly string[],
  partitions = 1,
): Promise<void> {
  const { metadata } = call.cluster;
  if (names.length === 0) return;
  await call.repeat(async () => {
    await call.refresh(names);
    const late = names.find((name) => !isLed(call, name, partitions));
    if (late === undefined) return;
    return new Retry(
      new RefusedError(
        `Topic "${late}" exists, but not all of its partitions have a leader yet. Wait, or check whether enough brokers are running.`,
        true,
      ),
    );
  });
  const questions = names.flatMap((topic) =>
    (metadata.topic(topic)?.partitions ?? []).map(({ partition }) => ({
      topic,
      partition,
      timestamp: EARLIEST,
    })),
  );
  await lookUpOffsets(call.cluster, questions, {
    isolation: 'read_uncommitted',
    signal: call.signal,
    onError: (error) => (call.lastError = error),
  });
}

export async function waitUntilDeleted(call: AdminCall, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await call.repeat(async () => {
    const { topics } = await call.request('any', metadataRequest(names));
    const left = topics.find(({ code }) => code !== UNKNOWN_TOPIC);
    if (left === undefined) return;
    return new Retry(
      new RefusedError(
        `Topic "${left.name}" is marked for deletion, but some brokers still have it. Wait, or check whether all brokers are running.`,
        true,
      ),
    );
  });
  for (const name of names) call.cluster.metadata.forget(name);
}

function isLed({ cluster: { metadata } }: AdminCall, name: string, partitions: number): boolean {
  const topic = metadata.topic(name);
  return (
    topic?.code === 0 &&
    topic.partitions.length >= partitions &&
    topic.partitions.every(({ leader }) => leader >= 0)
  );
}
