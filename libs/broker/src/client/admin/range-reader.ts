import type { ReadRangeOptions } from '../../port/admin.js';
import {
  InvalidOptionError,
  MalformedResponseError,
  OffsetOutOfRangeError,
  RequestTimeoutError,
  TopicRecreatedError,
  UnknownTopicError,
  type BrokerError,
} from '../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import { HeaderNameCache, RecordBatchReader, RecordChunks } from '../../records/index.js';
import { lookUpOffsets } from '../offsets/offset-lookup.js';
import {
  EARLIEST,
  errorOfCode,
  fetchRequest,
  LATEST,
  reactionTo,
  type FetchedPartition,
} from '../../wire/index.js';
import { Retry, type AdminCall } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { requirePartition } from './require-topic.js';

export interface Range extends TopicPartition, ReadRangeOptions {
  readonly from: number;
  readonly to: number;
}

interface LogBounds {
  readonly topicId: string | null;
  readonly low: number;
  readonly end: number;
}

type FetchResult =
  | { readonly kind: 'records'; readonly fetched: FetchedPartition & { readonly records: Buffer } }
  /** Records were deleted during the call, so the log starts after the requested offset. */
  | { readonly kind: 'deleted'; readonly low: number };

const UNKNOWN_ERROR = -1;
const OFFSET_OUT_OF_RANGE = 1;
const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;

const BYTES_PER_FETCH = 1024 * 1024;
const RECORDS_PER_CHUNK = 500;
/**
 * The longest wait of one fetch. Such a fetch returns early, because the range has records, unless
 * a leader has not caught up yet.
 */
const MAX_WAIT_MS = 500;

/** Reads one partition from one offset to another, on a connection of its own. */
export class RangeReader {
  readonly #calls: AdminCalls;
  readonly #range: Range;
  readonly #channel: string;
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNameCache();

  constructor(calls: AdminCalls, range: Range, channel: string) {
    this.#calls = calls;
    this.#range = range;
    this.#channel = channel;
  }

  async *read(): AsyncGenerator<BrokerRecord, void> {
    const { from, to } = this.#range;
    requireRange(from, to);
    try {
      const bounds = await this.#run((call) => this.#bounds(call));
      const end = Math.min(to, bounds.end);
      let position = Math.max(from, bounds.low);
      while (position < end) {
        const piece = await this.#run((call) => this.#fetch(call, position, bounds));
        if (piece.kind === 'deleted') position = piece.low;
        else position = yield* this.#recordsOf(piece.fetched, position, end);
      }
    } finally {
      this.#calls.cluster.closeChannel(this.#channel);
    }
  }

  async *#recordsOf(
    { records, aborted }: FetchedPartition & { readonly records: Buffer },
    position: number,
    end: number,
  ): AsyncGenerator<BrokerRecord, number> {
    const { topic, partition, isolation = 'read_committed', signal } = this.#range;
    const reader = new RecordBatchReader(records, {
      topic,
      partition,
      isolation,
      fetchOffset: position,
      abortedTransactions: aborted,
      chunks: this.#chunks,
      headerNames: this.#headerNames,
    });
    while (!reader.done)
      for (const record of reader.next(RECORDS_PER_CHUNK)) {
        this.#calls.throwIfClosed();
        signal?.throwIfAborted();
        if (record.offset >= end) return end;
        yield record;
      }
    if (reader.position > position) return reader.position;
    throw new MalformedResponseError(
      `The broker answered a fetch of partition ${partition} of "${topic}" at offset ${position} with batches that end before it.`,
    );
  }

  #run<T>(work: (call: AdminCall) => Promise<T>): Promise<T> {
    const { signal } = this.#range;
    return this.#calls.run(`Reading ${this.#name}`, work, { signal, channel: this.#channel });
  }

  async #bounds(call: AdminCall): Promise<LogBounds> {
    const { topic, partition, isolation = 'read_committed' } = this.#range;
    const { id } = await requirePartition(call, topic, partition);
    const ask = async (timestamp: number): Promise<number> => {
      const options = {
        isolation,
        signal: call.signal,
        onTrouble: (error: Error) => (call.lastError = error),
      };
      const [found] = await lookUpOffsets(call.cluster, [{ topic, partition, timestamp }], options);
      return found?.offset ?? 0;
    };
    const end = await ask(LATEST);
    return { topicId: id, end, low: await ask(EARLIEST) };
  }

  #fetch(call: AdminCall, position: number, bounds: LogBounds): Promise<FetchResult> {
    const { topic, partition, isolation = 'read_committed' } = this.#range;
    const limits = { maxWaitMs: MAX_WAIT_MS, minBytes: 1, maxBytes: BYTES_PER_FETCH };
    return call.repeat<FetchResult>(async () => {
      const known = this.#partition(call, bounds);
      if (!known || known.leader < 0) return new Retry(this.#errorOf(LEADER_NOT_AVAILABLE));
      const { leader, leaderEpoch } = known;
      const from = {
        topic,
        topicId: bounds.topicId,
        partition,
        offset: position,
        leaderEpoch,
        maxBytes: BYTES_PER_FETCH,
      };
      const request = fetchRequest({ ...limits, isolation, partitions: [from] });
      const { code, partitions } = await call.request(leader, request);
      const [fetched] = partitions;
      const refused = code === 0 ? (fetched?.code ?? UNKNOWN_ERROR) : code;
      if (refused !== 0) return this.#handleCode(call, refused, position);
      if (fetched?.records?.length)
        return { kind: 'records', fetched: { ...fetched, records: fetched.records } };
      return new Retry(this.#emptyFetchError(position, bounds));
    }, [topic]);
  }

  /** Rejects if the topic was recreated, because the offsets then belong to other records. */
  #partition({ cluster: { metadata } }: AdminCall, { topicId }: LogBounds) {
    const { topic, partition } = this.#range;
    const known = metadata.topic(topic);
    if (known?.code === UNKNOWN_TOPIC) throw new UnknownTopicError(topic);
    if (known?.code === 0 && known.id !== topicId) throw this.#recreatedError();
    return metadata.partition(topic, partition);
  }

  #handleCode(
    call: AdminCall,
    code: number,
    position: number,
  ): Promise<FetchResult | Retry> | Retry {
    switch (reactionTo('fetch', code)) {
      case 'out-of-range':
        return this.#outOfRange(call, position);
      case 'refresh-metadata':
      case 'retry':
        return new Retry(this.#errorOf(code));
      default:
        throw this.#errorOf(code);
    }
  }

  async #outOfRange(call: AdminCall, position: number): Promise<FetchResult | Retry> {
    const { topic, partition } = this.#range;
    const { low, end } = await this.#bounds(call);
    if (low > position) return { kind: 'deleted', low };
    if (position <= end) return new Retry(this.#errorOf(OFFSET_OUT_OF_RANGE));
    throw new OffsetOutOfRangeError(
      topic,
      partition,
      position,
      low,
      end,
      `The log of ${this.#name} was truncated to ${end} while it was being read at ${position}: records that were already read are lost.`,
    );
  }

  #emptyFetchError(position: number, { end }: LogBounds): RequestTimeoutError {
    return new RequestTimeoutError(
      `The leader of ${this.#name} returned no records from offset ${position}, although the log ended at ${end}. The leader may have lost the end of the log, or may not have caught up yet.`,
    );
  }

  #recreatedError(): TopicRecreatedError {
    const { topic, partition, from } = this.#range;
    return new TopicRecreatedError(
      topic,
      partition,
      from,
      `Topic "${topic}" was deleted and created again while partition ${partition} was being read. Read the new one from its start.`,
    );
  }

  #errorOf(code: number): BrokerError {
    return errorOfCode(code, `Reading ${this.#name}`);
  }

  get #name(): string {
    return `partition ${this.#range.partition} of "${this.#range.topic}"`;
  }
}

function requireRange(from: number, to: number): void {
  for (const offset of [from, to])
    if (!(offset >= 0) || (Number.isFinite(offset) && !Number.isSafeInteger(offset)))
      throw new InvalidOptionError(
        `readRange needs whole offsets from 0 on; got ${String(from)} and ${String(to)}.`,
      );
}
