import type { TransactionOutcome } from '../../../port/transaction-lifecycle.js';
import type { TransactionProtocol } from '../../../wire/index.js';
import type { Reader } from '../../../wire/requests/reader.js';
import { Writer } from '../../../wire/requests/writer.js';

const INIT_PRODUCER_ID = 22;
const ADD_PARTITIONS = 24;
const ADD_OFFSETS = 25;
const END = 26;
const COMMIT_OFFSETS = 28;

const PRODUCER_FENCED = 90;
const INVALID_TXN_STATE = 48;
const CONCURRENT_TRANSACTIONS = 51;
const NO_EPOCH = -1;
const PRODUCER_ID = 4n;

interface Written {
  readonly partition: string;
  readonly value: string;
  readonly transaction: number;
}

/**
 * A model of Kafka's coordinator for one transactional id and one group, in both transaction
 * protocols.
 */
export class CoordinatorModel {
  epoch = NO_EPOCH;
  /** True if the response to EndTxn contains the new producer id and epoch. */
  returnsNewEpoch = true;
  #epochBefore = NO_EPOCH;
  #isOpen = false;
  #transaction = 0;
  readonly #members = new Set<string>();
  readonly #ends = new Map<number, TransactionOutcome>();
  readonly #written: Written[] = [];
  #lastEnd: TransactionOutcome | undefined;
  #pendingOffset: number | undefined;
  committedOffset: number | undefined;

  constructor(public protocol: TransactionProtocol) {}

  /** Returns the values of a partition that a read_committed reader sees. */
  committed(partition: string): readonly string[] {
    return this.#written
      .filter(
        (each) => each.partition === partition && this.#ends.get(each.transaction) === 'commit',
      )
      .map(({ value }) => value);
  }

  /** The records of open transactions. A read_committed reader gets no record after them. */
  get undecided(): readonly string[] {
    return this.#written
      .filter(({ transaction }) => !this.#ends.has(transaction))
      .map(({ value }) => value);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Checks a write as a leader does. In v2 the leader adds the partition to the transaction; in v1
   * the partition must have been added before.
   */
  acceptsWrite(partition: string): boolean {
    if (this.protocol === 'v2') {
      this.#begin(this.epoch);
      this.#members.add(partition);
    }
    return this.#isOpen && this.#members.has(partition);
  }

  wrote(partition: string, values: readonly string[]): void {
    for (const value of values)
      this.#written.push({ partition, value, transaction: this.#transaction });
  }

  /**
   * Aborts the open transaction, as after a transaction timeout or when another producer takes over
   * the id.
   */
  fence(): void {
    if (this.#isOpen) this.#end('abort');
    else this.#lastEnd = undefined;
    this.epoch++;
    this.#epochBefore = NO_EPOCH;
  }

  /** Returns the epoch in a request, or -1 if the request has none. */
  epochIn(apiKey: number, reader: Reader): number {
    reader.compactNullableString();
    if (apiKey === INIT_PRODUCER_ID) reader.int32();
    if (apiKey === COMMIT_OFFSETS) reader.compactString();
    reader.bigint64();
    return reader.int16();
  }

  handle(apiKey: number, reader: Reader): Buffer {
    const epoch = this.epochIn(apiKey, reader);
    switch (apiKey) {
      case INIT_PRODUCER_ID:
        return identity(this.#init(epoch), this.epoch);
      case ADD_PARTITIONS:
        return this.#addPartitions(epoch, reader);
      case ADD_OFFSETS:
        return coded(this.#begin(epoch));
      case END:
        return this.#ended(this.#endTransaction(epoch, reader.boolean() ? 'commit' : 'abort'));
      default:
        return this.#commitOffsets(epoch, reader);
    }
  }

  /** Returns a response with the same code for everything in the request. */
  refusal(apiKey: number, reader: Reader, code: number): Buffer {
    this.epochIn(apiKey, reader);
    if (apiKey === INIT_PRODUCER_ID) return identity(code, -1);
    if (apiKey === ADD_PARTITIONS) return forPartitions(partitionsIn(reader), code);
    if (apiKey === END) return this.#ended(code);
    return apiKey === COMMIT_OFFSETS
      ? forPartitions([{ topic: 'in', partition: 0 }], code)
      : coded(code);
  }

  #init(current: number): number {
    if (this.#isOpen) {
      if (current !== NO_EPOCH && current !== this.epoch) return PRODUCER_FENCED;
      this.fence();
      return CONCURRENT_TRANSACTIONS;
    }
    const isKnown = current !== NO_EPOCH && current === this.#epochBefore;
    if (current !== NO_EPOCH && current !== this.epoch && !isKnown) return PRODUCER_FENCED;
    this.#lastEnd = undefined;
    if (isKnown) return 0;
    this.#epochBefore = current;
    this.epoch++;
    return 0;
  }

  #begin(epoch: number): number {
    if (epoch !== this.epoch) return PRODUCER_FENCED;
    if (!this.#isOpen) this.#transaction++;
    this.#isOpen = true;
    return 0;
  }

  #addPartitions(epoch: number, reader: Reader): Buffer {
    const partitions = partitionsIn(reader);
    const code = this.#begin(epoch);
    if (code === 0)
      for (const { topic, partition } of partitions) this.#members.add(`${topic}/${partition}`);
    return forPartitions(partitions, code);
  }

  /** Generation -2 stands for a member of an old generation, and is refused. */
  #commitOffsets(epoch: number, reader: Reader): Buffer {
    const generation = reader.int32();
    reader.compactString();
    reader.compactNullableString();
    const offsets = reader.compactArray(() => {
      const topic = reader.compactString();
      const items = reader.compactArray(() => {
        const [partition, offset] = [reader.int32(), reader.int64()];
        reader.int32();
        reader.compactNullableString();
        reader.skipTags();
        return { topic, partition, offset };
      });
      reader.skipTags();
      return items;
    });
    const asked = offsets.flat();
    if (generation === -2) return forPartitions(asked, 22);
    if (epoch !== this.epoch) return forPartitions(asked, 47);
    if (this.protocol === 'v2') this.#begin(epoch);
    if (!this.#isOpen) return forPartitions(asked, INVALID_TXN_STATE);
    this.#pendingOffset = asked[0]?.offset;
    return forPartitions(asked, 0);
  }

  #endTransaction(epoch: number, outcome: TransactionOutcome): number {
    if (this.protocol === 'v2') return this.#endAndRaiseEpoch(epoch, outcome);
    if (epoch !== this.epoch) return PRODUCER_FENCED;
    if (this.#isOpen) this.#end(outcome);
    return this.#lastEnd === outcome ? 0 : INVALID_TXN_STATE;
  }

  /**
   * Ends the transaction and increases the epoch. A repeated EndTxn still has the previous epoch,
   * and is recognised until the next transaction begins.
   */
  #endAndRaiseEpoch(epoch: number, outcome: TransactionOutcome): number {
    const isOver = !this.#isOpen && this.#lastEnd !== undefined;
    if (isOver && epoch === this.epoch - 1)
      return this.#lastEnd === outcome ? 0 : INVALID_TXN_STATE;
    if (epoch !== this.epoch) return PRODUCER_FENCED;
    if (!this.#isOpen && outcome === 'commit') return INVALID_TXN_STATE;
    if (this.#isOpen) this.#end(outcome);
    this.#lastEnd = outcome;
    this.#epochBefore = this.epoch++;
    return 0;
  }

  #ended(code: number): Buffer {
    if (this.protocol === 'v1') return coded(code);
    const isTold = code === 0 && this.returnsNewEpoch;
    const [producerId, epoch] = isTold ? [PRODUCER_ID, this.epoch] : [-1n, NO_EPOCH];
    return new Writer().int32(0).int16(code).int64(producerId).int16(epoch).noTags().toBuffer();
  }

  #end(outcome: TransactionOutcome): void {
    this.#ends.set(this.#transaction, outcome);
    this.#lastEnd = outcome;
    if (outcome === 'commit') this.committedOffset = this.#pendingOffset ?? this.committedOffset;
    this.#pendingOffset = undefined;
    this.#isOpen = false;
    this.#members.clear();
  }
}

function identity(code: number, epoch: number): Buffer {
  return new Writer().int32(0).int16(code).int64(PRODUCER_ID).int16(epoch).noTags().toBuffer();
}

function coded(code: number): Buffer {
  return new Writer().int32(0).int16(code).noTags().toBuffer();
}

interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

function partitionsIn(reader: Reader): readonly PartitionName[] {
  return reader
    .compactArray(() => {
      const topic = reader.compactString();
      const partitions = reader.compactArray(() => ({ topic, partition: reader.int32() }));
      reader.skipTags();
      return partitions;
    })
    .flat();
}

function forPartitions(partitions: readonly PartitionName[], code: number): Buffer {
  const writer = new Writer().int32(0);
  writer.compactArray(partitions, ({ topic, partition }) => {
    writer.compactString(topic);
    writer.compactArray([partition], () => writer.int32(partition).int16(code).noTags()).noTags();
  });
  return writer.noTags().toBuffer();
}
