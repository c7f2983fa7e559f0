import type { OutgoingRecord, ProducerSession, WrittenRecord } from '@nest-event-bus/broker';

/** Writes the record of one message. */
export interface RecordSender {
  send(record: OutgoingRecord, timeoutMs: number): Promise<WrittenRecord | undefined>;
  /** Waits for records in flight for a limited time. Idempotent. */
  close(): Promise<void>;
}

/** Writes records as they come. The session puts those of a few milliseconds into one batch. */
export class PlainSender implements RecordSender {
  #session: ProducerSession | undefined;

  constructor(private readonly open: () => ProducerSession) {}

  async send(record: OutgoingRecord, timeoutMs: number): Promise<WrittenRecord | undefined> {
    this.#session ??= this.open();
    const [written] = await this.#session.send([record], { timeoutMs });
    return written;
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }
}
