import type { ProducerStamp } from '../../records/index.js';
import type { ReceivedPartition, PartitionStep } from './scripted-produce-cluster.spec-support.js';

interface ProducerEntry {
  epoch: number;
  next: number;
  recent: { readonly first: number; readonly count: number; readonly baseOffset: number }[];
}

const OUT_OF_ORDER = 45;
const INVALID_EPOCH = 47;
const REMEMBERED = 5;

/**
 * A model of the leader of one partition, which answers a batch according to its producer stamp.
 * The model does not compare contents. If a sequence number is used again for other records, these
 * are acknowledged with the old offset and lost.
 */
export class SequencedLog {
  readonly #accounts = new Map<bigint, ProducerEntry>();
  #end = 0;

  /** Answers a batch, and also returns whether it was written. */
  append({ stamp, records }: ReceivedPartition): PartitionStep {
    const count = records.length;
    const account = this.#accounts.get(stamp.producerId);
    if (account === undefined) return this.#write(stamp, count, startOf(stamp));
    if (stamp.producerEpoch < account.epoch) return { code: INVALID_EPOCH };
    if (stamp.producerEpoch > account.epoch)
      return stamp.baseSequence === 0
        ? this.#write(stamp, count, startOf(stamp))
        : { code: OUT_OF_ORDER };
    const known = account.recent.find(
      (each) => each.first === stamp.baseSequence && each.count === count,
    );
    if (known) return { code: 0, writes: false, baseOffset: known.baseOffset };
    return stamp.baseSequence === account.next
      ? this.#write(stamp, count, account)
      : { code: OUT_OF_ORDER };
  }

  /** Restores an older producer state, as an unclean leader election does. The log is unchanged. */
  forgetLatest(): void {
    for (const account of this.#accounts.values()) {
      const latest = account.recent.pop();
      if (latest) account.next = latest.first;
    }
  }

  #write({ producerId, baseSequence }: ProducerStamp, count: number, account: ProducerEntry) {
    const baseOffset = this.#end;
    this.#end += count;
    account.next = (baseSequence + count) % 2 ** 31;
    account.recent = [...account.recent, { first: baseSequence, count, baseOffset }];
    account.recent = account.recent.slice(-REMEMBERED);
    this.#accounts.set(producerId, account);
    return { code: 0, writes: true, baseOffset };
  }
}

function startOf({ producerEpoch, baseSequence }: ProducerStamp): ProducerEntry {
  return { epoch: producerEpoch, next: baseSequence, recent: [] };
}
