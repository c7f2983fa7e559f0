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

/** Writes what happens to a file, at once: what a process has written there outlives its kill. */
export class Journal {
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

  /** The driver, of whose commits the journal says when they were sent and when they were acknowledged. */
  watching(driver: BrokerDriver): BrokerDriver {
    return overriding(driver, { consumer: (options) => this.#watched(driver.consumer(options)) });
  }

  #watched(session: ConsumerSession): ConsumerSession {
    const start: ConsumerSession['start'] = (listener, signal) =>
      session.start(this.#listening(listener), signal);
    const commit = async (offsets: readonly OffsetCommit[]): Promise<void> => {
      this.#write('commit');
      try {
        await session.commit(offsets);
      } catch (error) {
        this.#write(...stored(offsets, error).map(acknowledged));
        throw error;
      }
      this.#write(...offsets.map(acknowledged), 'committed');
      // Whoever waited for it, and the commit that follows at once, have had their turn by then.
      setImmediate(() => this.#write('settled'));
    };
    return overriding(session, { start, commit });
  }

  #listening(listener: AssignmentListener): AssignmentListener {
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

/** Partitions that the error does not name were stored. */
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
