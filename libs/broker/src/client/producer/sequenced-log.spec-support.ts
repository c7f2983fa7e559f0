import type { ProducerStamp } from '../../records/index.js';
import type { AskedPartition, PartitionStep } from './scripted-cluster.spec-support.js';

interface Account {
  epoch: number;
  next: number;
  recent: { readonly first: number; readonly count: number; readonly baseOffset: number }[];
}

const OUT_OF_ORDER = 45;
const INVALID_EPOCH = 47;
const REMEMBERED = 5;

/**
 * The leader of one partition as Kafka keeps it: what it answers to a batch by its producer's
 * stamp. It knows no contents, so a number that is used again for other records is "written" with
 * the old offset, and the records are gone.
 */
export class SequencedLog {
  readonly #accounts = new Map<bigint, Account>();
  #end = 0;

  /** Also tells whether the batch is written. */
  append({ stamp, records }: AskedPartition): PartitionStep {
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

  /** As after an unclean election: the log is as it was, the account of the producers is older. */
  forgetLatest(): void {
    for (const account of this.#accounts.values()) {
      const latest = account.recent.pop();
      if (latest) account.next = latest.first;
    }
  }

  #write({ producerId, baseSequence }: ProducerStamp, count: number, account: Account) {
    const baseOffset = this.#end;
    this.#end += count;
    account.next = (baseSequence + count) % 2 ** 31;
    account.recent = [...account.recent, { first: baseSequence, count, baseOffset }];
    account.recent = account.recent.slice(-REMEMBERED);
    this.#accounts.set(producerId, account);
    return { code: 0, writes: true, baseOffset };
  }
}

function startOf({ producerEpoch, baseSequence }: ProducerStamp): Account {
  return { epoch: producerEpoch, next: baseSequence, recent: [] };
}
