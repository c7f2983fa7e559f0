import type { OffsetAtTime, Watermarks } from '../../port/admin.js';
import { InvalidOptionError } from '../../port/errors.js';
import { lookUpOffsets } from '../offsets/offset-lookup.js';
import { EARLIEST, LATEST, type ListedOffset } from '../../wire/index.js';
import type { AdminCall } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { deleteRecords, type DeleteBefore, type NewLow } from './record-deletion.js';
import { knownTopic } from './known-topic.js';

/** Where the logs of a topic begin and end. */
export class LogsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  watermarks(topic: string): Promise<readonly Watermarks[]> {
    return this.calls.run(`Asking for the watermarks of topic "${topic}"`, async (call) => {
      // Not in one request: a broker refuses to be asked twice about one partition.
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
    // Times before 1970 have meanings of their own in the protocol.
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

  deleteRecords(topic: string, before: readonly DeleteBefore[]): Promise<readonly NewLow[]> {
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
  const { partitions } = await knownTopic(call, topic);
  const found = await lookUpOffsets(
    call.cluster,
    partitions.map(({ partition }) => ({ topic, partition, timestamp })),
    {
      // Latest is then the high watermark, which counts the records of open transactions too.
      isolation: 'read_uncommitted',
      signal: call.signal,
      onTrouble: (error) => (call.trouble = error),
    },
  );
  return [...found].sort((one, other) => one.partition - other.partition);
}
