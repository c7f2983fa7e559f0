import type { OffsetAtTime, Watermarks } from '../../port/admin.js';
import { InvalidOptionError } from '../../port/errors.js';
import { lookUpOffsets } from '../offsets/offset-lookup.js';
import { EARLIEST, LATEST, type ListedOffset } from '../../wire/index.js';
import type { AdminCall } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { deleteRecords, type DeleteBefore, type NewLowWatermark } from './delete-records.js';
import { requireTopic } from './require-topic.js';

/** Reads and moves the start and end offsets of a topic's logs. */
export class LogsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  watermarks(topic: string): Promise<readonly Watermarks[]> {
    return this.calls.run(`Asking for the watermarks of topic "${topic}"`, async (call) => {
      // Sends two requests, because a broker refuses a request that names a partition twice.
      const [lows, highs] = await Promise.all([
        offsetsOf(call, topic, EARLIEST),
        offsetsOf(call, topic, LATEST),
      ]);
      return lows.map(({ partition, offset: low }) => {
        const high = highs.find((each) => each.partition === partition)?.offset ?? low;
        return { partition, low, high };
      });
    });
  }

  async offsetsAt(topic: string, timestamp: number): Promise<readonly OffsetAtTime[]> {
    if (!Number.isFinite(timestamp))
      throw new InvalidOptionError(
        `offsetsAt needs a time in milliseconds since 1970; got ${String(timestamp)}.`,
      );
    // Negative timestamps have special meanings in the protocol.
    const from = Math.max(0, Math.ceil(timestamp));
    return this.calls.run(`Asking topic "${topic}" for offsets by time`, async (call) => {
      const found = await offsetsOf(call, topic, from);
      return found.map(({ partition, offset, timestamp: at }) =>
        offset < 0
          ? { partition, offset: null, timestamp: null }
          : { partition, offset, timestamp: at },
      );
    });
  }

  deleteRecords(
    topic: string,
    before: readonly DeleteBefore[],
  ): Promise<readonly NewLowWatermark[]> {
    return this.calls.run(`Deleting records of topic "${topic}"`, (call) =>
      deleteRecords(call, topic, before),
    );
  }
}

async function offsetsOf(
  call: AdminCall,
  topic: string,
  timestamp: number,
): Promise<readonly ListedOffset[]> {
  const { partitions } = await requireTopic(call, topic);
  const found = await lookUpOffsets(
    call.cluster,
    partitions.map(({ partition }) => ({ topic, partition, timestamp })),
    {
      // LATEST is the high watermark with read_uncommitted, and includes the records of open
      // transactions.
      isolation: 'read_uncommitted',
      signal: call.signal,
      onError: (error) => (call.lastError = error),
    },
  );
  return [...found].sort((one, other) => one.partition - other.partition);
}
