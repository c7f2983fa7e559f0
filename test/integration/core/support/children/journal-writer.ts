import { openSync, writeSync } from 'node:fs';
import {
  CommitError,
  type AssignmentListener,
  type BrokerDriver,
  type ConsumerSession,
  type OffsetCommit,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { overriding } from './overriding.js';

/** Writes events to a file synchronously, so that they are kept when the process is killed. */
export class JournalWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  began(partition: number, offset: number | bigint): void {
    this.#write(`began ${partition} ${offset}`);
  }

  done(partition: number, offset: number | bigint): void {
    this.#write(`done ${partition} ${offset}`);
  }

  /** Returns the driver with sessions that write to the journal when a commit is sent and when it is acknowledged. */
  logCommitsOf(driver: BrokerDriver): BrokerDriver {
    return overriding(driver, {
      consumer: (options) => this.#logCommitsOfSession(driver.consumer(options)),
    });
  }

  #logCommitsOfSession(session: ConsumerSession): ConsumerSession {
    const start: ConsumerSession['start'] = (listener, signal) =>
      session.start(this.#logAssignments(listener), signal);
    const commit = async (offsets: readonly OffsetCommit[]): Promise<void> => {
      this.#write('commit');
      try {
        await session.commit(offsets);
      } catch (error) {
        this.#write(...stored(offsets, error).map(acknowledged));
        throw error;
      }
      this.#write(...offsets.map(acknowledged), 'committed');
      // The callers of this commit have run by then, and a commit that follows at once has been sent.
      setImmediate(() => this.#write('settled'));
    };
    return overriding(session, { start, commit });
  }

  #logAssignments(listener: AssignmentListener): AssignmentListener {
    return overriding(listener, {
      onAssigned: (partitions) => {
        this.#write(...partitions.map(({ partition }) => `assigned ${partition}`));
        return listener.onAssigned(partitions);
      },
      onRevoked: (partitions) => {
        this.#released(partitions);
        return listener.onRevoked(partitions);
      },
      onLost: (partitions) => {
        this.#released(partitions);
        return listener.onLost(partitions);
      },
    });
  }

  #released(partitions: readonly TopicPartition[]): void {
    this.#write(...partitions.map(({ partition }) => `released ${partition}`));
  }

  #write(...lines: readonly string[]): void {
    if (lines.length > 0) writeSync(this.#file, `${lines.join('\n')}\n`);
  }
}

/** Returns the offsets that were stored: all that the error does not name. */
function stored(offsets: readonly OffsetCommit[], error: unknown): readonly OffsetCommit[] {
  if (!(error instanceof CommitError)) return [];
  return offsets.filter(
    (commit) =>
      !error.partitions.some(
        ({ topic, partition }) => topic === commit.topic && partition === commit.partition,
      ),
  );
}

function acknowledged({ partition, offset, metadata }: OffsetCommit): string {
  return `acknowledged ${partition} ${offset} ${metadata ?? ''}`;
}
