import type { OffsetCommit, TopicPartition } from '@nest-event-bus/broker';
import { sleep, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { Committer, type CommitSource } from './committer.js';
import { type LogLine, recordingLogger } from '../session/consuming-test-bed.spec-support.js';
import { MetadataBudget } from './metadata-budget.js';
import { partitionName } from '../lanes/partition-name.js';

/** A lane whose progress is changed by the test. */
export class Progress implements CommitSource {
  readonly topic = 't';
  readonly name: string;
  watermark = 0;
  confirmed = 0;
  /** Length of the metadata. */
  metadata = 0;
  /** Method that throws an internal error once. */
  breaksAt: 'commitPoint' | 'confirm' | undefined;

  constructor(readonly partition: number) {
    this.name = partitionName('t', partition);
  }

  commitPoint(): OffsetCommit | undefined {
    const { topic, partition, watermark: offset } = this;
    this.#break('commitPoint');
    if (offset <= this.confirmed) return undefined;
    const metadata = '.'.repeat(this.metadata);
    return { topic, partition, offset, ...(metadata && { metadata }) };
  }

  confirm({ offset }: OffsetCommit): void {
    this.confirmed = Math.max(this.confirmed, offset);
    this.#break('confirm');
  }

  #break(where: Progress['breaksAt']): void {
    if (this.breaksAt !== where) return;
    this.breaksAt = undefined;
    throw new RangeError('a mistake');
  }
}

export class Bench {
  readonly runtime = new VirtualRuntime();
  readonly sent: string[] = [];
  readonly log: LogLine[] = [];
  readonly errors: (Error | undefined)[] = [];
  readonly owned = new Set([0, 1, 2]);
  /** Answers of the broker, one per commit. A commit without an answer is stored. */
  readonly answers: (Promise<void> | Error)[] = [];
  /** Time until the broker answers a commit. */
  takesMs = 0;
  readonly budget = new MetadataBudget();
  readonly committer = new Committer({
    session: {
      commit: async (offsets) => {
        this.sent.push(offsets.map(({ partition, offset }) => `${partition}:${offset}`).join(' '));
        if (this.takesMs > 0) await sleep(this.runtime, this.takesMs);
        const answer = this.answers.shift();
        if (answer instanceof Error) throw answer;
        await answer;
      },
      position: ({ partition }: TopicPartition) => (this.owned.has(partition) ? 0 : undefined),
    },
    runtime: this.runtime,
    logger: recordingLogger(this.log),
    budget: this.budget,
    onError: (error) => this.errors.push(error),
  });

  done(source: Progress, watermark: number): void {
    source.watermark = watermark;
    this.committer.request(source);
  }
}

export const of = (...partitions: number[]): TopicPartition[] =>
  partitions.map((partition) => ({ topic: 't', partition }));
