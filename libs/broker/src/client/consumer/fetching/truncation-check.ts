import type { BrokerError } from '../../../port/errors.js';
import { CONTROL_LANE, epochEndRequest, type Cluster, type EpochEnd } from '../../../wire/index.js';
import type { FetchReactions } from './fetch-reactions.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Divergence } from '../assignment/start-positions.js';

export interface TruncationHost {
  /** What was read is not in the leader's log, which agrees with it up to there, where it can tell. */
  onTruncated(partition: OwnedPartition, divergence: Divergence | undefined): void;
}

export interface TruncationCheckOptions {
  readonly cluster: Pick<Cluster, 'request' | 'metadata'>;
  readonly host: TruncationHost;
  readonly reactions: FetchReactions;
  readonly ended: AbortSignal;
  /** Look again at what is wanted. */
  onDone(): void;
}

interface Question {
  readonly topic: string;
  readonly partition: number;
  readonly owned: OwnedPartition;
  readonly journey: number;
  readonly currentEpoch: number;
  readonly epoch: number;
}

/**
 * Asks a leader that is new to a partition whether its log holds what we read (KIP-320). What was
 * fetched ahead came from the leader before it, and is forgotten.
 */
export class TruncationCheck {
  constructor(private readonly options: TruncationCheckOptions) {}

  async check(node: number, partitions: readonly OwnedPartition[]): Promise<void> {
    const { reactions, ended, onDone } = this.options;
    const questions = partitions.map((owned) => this.#question(owned));
    try {
      for (let open = questions; open.length > 0;) open = await this.#ask(node, open);
    } catch (error) {
      if (!ended.aborted) reactions.failed(node, partitions, error as BrokerError);
    } finally {
      for (const { owned, journey } of questions) owned.answered(journey);
      onDone();
    }
  }

  /** Returns what has to be asked next. */
  async #ask(node: number, questions: readonly Question[]): Promise<Question[]> {
    const { cluster, ended } = this.options;
    const request = epochEndRequest(questions);
    const ends = await cluster.request(node, CONTROL_LANE, request, { signal: ended });
    return questions.flatMap((question) =>
      question.owned.journey === question.journey ? (this.#settle(question, ends) ?? []) : [],
    );
  }

  #question(owned: OwnedPartition): Question {
    const { topic, partition, trail } = owned;
    owned.dropChunks();
    owned.nearby.forget();
    const currentEpoch = this.options.cluster.metadata.leaderEpoch(topic, partition);
    return { topic, partition, owned, journey: owned.ask(), currentEpoch, epoch: trail.last };
  }

  #settle(question: Question, ends: readonly EpochEnd[]): Question | undefined {
    const { reactions } = this.options;
    const { owned, topic, partition } = question;
    const end = ends.find((each) => each.partition === partition && each.topic === topic);
    if (!end) reactions.fruitless(owned);
    else if (end.code !== 0) reactions.refused(owned, end.code);
    else return this.#compare(question, end);
    return undefined;
  }

  #compare(question: Question, { leaderEpoch, endOffset }: EpochEnd): Question | undefined {
    const { owned, currentEpoch } = question;
    const shared = owned.trail.lastUpTo(leaderEpoch);
    // It had leaders that we never saw: where the last one that we did see ended, the logs part.
    if (shared >= 0 && shared !== leaderEpoch) return { ...question, epoch: shared };
    const offset = owned.trail.agreedEnd(leaderEpoch, endOffset);
    if (leaderEpoch < 0 || endOffset < 0) this.#truncated(owned, undefined);
    else if (offset >= owned.position) owned.checked(currentEpoch);
    else this.#truncated(owned, { offset, leaderEpoch });
    return undefined;
  }

  /** Not asked for again until the session has decided where to go on. */
  #truncated(owned: OwnedPartition, divergence: Divergence | undefined): void {
    owned.restUntil = Infinity;
    this.options.host.onTruncated(owned, divergence);
  }
}
