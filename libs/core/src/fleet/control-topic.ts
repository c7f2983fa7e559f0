import type {
  AdminSession,
  BrokerDriver,
  BrokerRecord,
  ProducerSession,
} from '@nest-event-bus/broker';
import { FleetUnavailableException } from '../errors/fleet-errors.js';
import {
  decodeFleetEntry,
  encodeFleetEntry,
  type FleetEntry,
  type KeyedFleetEntry,
} from './fleet-entry.js';

export interface ControlTopicParts {
  readonly topic: string;
  readonly creates: boolean;
  readonly driver: () => BrokerDriver;
  readonly producer: () => ProducerSession;
}

/** All entries are in one partition, so that every instance reads them in the same order. */
const PARTITION = 0;

/** A report or an answer that is written later than this says nothing of use. */
const WRITE_TIMEOUT_MS = 5_000;

/** Small segments, because Kafka never compacts the one that is being written. */
const CONFIG = {
  'cleanup.policy': 'compact',
  'segment.bytes': '16777216',
  'segment.ms': '3600000',
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': '3600000',
};

/** Reads and writes the control topic of a fleet. Joins no group and commits nothing. */
export class ControlTopic {
  #admin: AdminSession | undefined;
  #topicId: string | null | undefined;
  #next = 0;

  constructor(private readonly parts: ControlTopicParts) {}

  /** Makes sure that the topic exists and keeps its entries. Throws with what to do. */
  async check(): Promise<void> {
    const { creates, topic } = this.parts;
    const admin = this.#session();
    if (creates && (await admin.topics([topic])).length === 0)
      await admin.createTopics([{ name: topic, partitions: 1, config: CONFIG }]);
    const [found] = await admin.topics([topic]);
    if (!found)
      throw new FleetUnavailableException(
        topic,
        "does not exist. Create it with one partition and cleanup.policy=compact, or set fleet.provisioning: 'create'",
      );
    const policy = (await admin.topicConfig(topic))['cleanup.policy'] ?? '';
    if (policy.split(',').some((each) => each.trim() === 'delete'))
      throw new FleetUnavailableException(
        topic,
        `has cleanup.policy=${policy}, which deletes pauses and stops that are in force. Set cleanup.policy=compact on it`,
      );
  }

  /**
   * Returns what was written since the last call. `isNew` says that the topic was created again or
   * truncated, so that everything is read from its beginning.
   */
  async read(): Promise<{
    readonly isNew: boolean;
    readonly entries: readonly (readonly [key: string, entry: FleetEntry | undefined])[];
  }> {
    const { topic } = this.parts;
    const admin = this.#session();
    const [found] = await admin.topics([topic]);
    if (!found) throw new FleetUnavailableException(topic, 'does not exist any more');
    const marks = await admin.watermarks(topic);
    const high = marks.find(({ partition }) => partition === PARTITION)?.high ?? 0;
    const isNew = this.#topicId !== found.id || high < this.#next;
    const from = isNew ? 0 : this.#next;
    const entries: (readonly [string, FleetEntry | undefined])[] = [];
    if (from < high)
      for await (const record of admin.readRange(topic, PARTITION, from, high))
        entries.push(...entryOf(record));
    // A read that fails changes nothing, so that the next one is still the first of a new topic.
    this.#topicId = found.id;
    this.#next = high;
    return { isNew, entries };
  }

  async write(entries: readonly KeyedFleetEntry[]): Promise<void> {
    const { producer, topic } = this.parts;
    await producer().send(
      entries.map(([key, entry]) => ({
        ...{ topic, partition: PARTITION, key },
        value: entry && encodeFleetEntry(entry),
      })),
      { timeoutMs: WRITE_TIMEOUT_MS },
    );
  }

  async close(): Promise<void> {
    await this.#admin?.close();
    this.#admin = undefined;
  }

  #session(): AdminSession {
    return (this.#admin ??= this.parts.driver().admin());
  }
}

function entryOf({ key, value }: BrokerRecord): (readonly [string, FleetEntry | undefined])[] {
  if (key === null) return [];
  const entry = decodeFleetEntry(value);
  // A record that cannot be read is left out: it must not delete an entry that is known.
  return value !== null && entry === undefined ? [] : [[key.toString('utf8'), entry]];
}
