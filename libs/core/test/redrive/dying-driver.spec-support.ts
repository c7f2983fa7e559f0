import type { BrokerDriver, ProducerSession, Transaction } from '@nest-event-bus/broker';

/** The calls of a redrive at which its process can die, before or after the call has its effect. */
export class DyingProcess {
  #calls = 0;
  #isDead = false;
  /** The call at which the process died, for the title of a failed expectation. */
  diedAt: string | undefined;

  /** Dies at this call. The calls are numbered from 1; each has a number before and one after. */
  constructor(private readonly deadlyCall: number) {}

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Dies now. */
  die(): void {
    this.#isDead = true;
  }

  driver(driver: BrokerDriver): BrokerDriver {
    return {
      name: driver.name,
      capabilities: driver.capabilities,
      consumer: (options) => driver.consumer(options),
      producer: (options) => this.#producer(driver.producer(options)),
      admin: () => driver.admin(),
      close: () => driver.close(),
    };
  }

  #producer(producer: ProducerSession): ProducerSession {
    return {
      send: (records, options) => this.#call('send', () => producer.send(records, options)),
      transaction: async () =>
        this.#transaction(await this.#call('begin', () => producer.transaction())),
      // A process that dies closes nothing.
      close: () => (this.#isDead ? Promise.resolve() : producer.close()),
    };
  }

  #transaction(transaction: Transaction): Transaction {
    return {
      send: (records) =>
        this.#call(`send ${records.length} in a transaction`, () => transaction.send(records)),
      sendOffsets: (offsets) => transaction.sendOffsets(offsets),
      commit: () => this.#call('commit', () => transaction.commit()),
      abort: () => (this.#isDead ? Promise.reject(new ProcessDied()) : transaction.abort()),
    };
  }

  async #call<T>(name: string, act: () => Promise<T>): Promise<T> {
    this.#maybeDie(`before ${name}`);
    const result = await act();
    this.#maybeDie(`after ${name}`);
    return result;
  }

  #maybeDie(where: string): void {
    if (this.#isDead) throw new ProcessDied();
    if (++this.#calls !== this.deadlyCall) return;
    this.#isDead = true;
    this.diedAt = where;
    throw new ProcessDied();
  }
}

class ProcessDied extends Error {}
