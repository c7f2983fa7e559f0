import { openSync, writeSync } from 'node:fs';
import type { BrokerDriver, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
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
    const commit = async (offsets: readonly OffsetCommit[]): Promise<void> => {
      this.#write('commit');
      await session.commit(offsets);
      this.#write(...offsets.map(acknowledged), 'committed');
    };
    return overriding(session, { commit });
  }

  #write(...lines: readonly string[]): void {
    writeSync(this.#file, `${lines.join('\n')}\n`);
  }
}

function acknowledged({ partition, offset, metadata }: OffsetCommit): string {
  return `acknowledged ${partition} ${offset} ${metadata ?? ''}`;
}
