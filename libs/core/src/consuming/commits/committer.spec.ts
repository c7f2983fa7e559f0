import {
  AuthorizationError,
  CommitRefusedError,
  FencedError,
  OffsetMetadataTooLargeError,
  type OffsetCommit,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { Deferred, sleep, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { Committer, type CommitSource } from './committer.js';
import {
  type LogLine,
  recordingLogger,
  watched,
} from '../session/consuming-test-bed.spec-support.js';
import { MetadataBudget } from './metadata-budget.js';
import { partitionName } from '../lanes/partition-name.js';

/** A lane whose progress the test moves. */
class Progress implements CommitSource {
  readonly topic = 't';
  readonly name: string;
  watermark = 0;
  confirmed = 0;
  /** Length of the metadata. */
  metadata = 0;
  /** Where an internal error is thrown, once. */
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
    throw new Error('a mistake');
  }
}

class Bench {
  readonly runtime = new VirtualRuntime();
  readonly sent: string[] = [];
  readonly log: LogLine[] = [];
  readonly troubles: (Error | undefined)[] = [];
  readonly owned = new Set([0, 1, 2]);
  /** Answers of the broker, one per commit. A commit without an answer is stored. */
  readonly answers: (Promise<void> | Error)[] = [];
  /** Time that the broker takes for a commit. */
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
    onError: (error) => this.troubles.push(error),
  });

  done(source: Progress, watermark: number): void {
    source.watermark = watermark;
    this.committer.request(source);
  }
}

const of = (...partitions: number[]): TopicPartition[] =>
  partitions.map((partition) => ({ topic: 't', partition }));

describe('Committer', () => {
  it('keeps one commit in flight, and puts later progress into the next one', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const first = new Deferred();
    bench.answers.push(first.promise);
    bench.done(zero, 1);
    for (const watermark of [2, 3, 4]) bench.done(zero, watermark);
    bench.done(one, 9);
    await bench.runtime.settle();
    expect(bench.sent).toEqual(['0:1']);
    first.resolve();
    await bench.runtime.settle();
    expect(bench.sent).toEqual(['0:1', '0:4 1:9']);
    expect([zero.confirmed, one.confirmed]).toEqual([4, 9]);
  });

  it('repeats a refused commit with the newest offset, and reports the error and its end', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    const refused = new CommitRefusedError(of(0), 'not now', true);
    bench.answers.push(refused, refused);
    bench.done(zero, 1);
    await bench.runtime.settle();
    zero.watermark = 5;
    await bench.runtime.advance(1_000);
    expect(bench.sent).toEqual(['0:1', '0:5', '0:5']);
    expect(bench.troubles).toEqual([refused, refused, undefined]);
    expect(zero.confirmed).toBe(5);
  });

  it('repeats only what was not stored', async () => {
    const bench = new Bench();
    const [zero, one, two] = [new Progress(0), new Progress(1), new Progress(2)];
    const gate = new Deferred();
    bench.answers.push(gate.promise, new CommitRefusedError(of(1), 'not now', true));
    bench.done(two, 1);
    bench.done(zero, 1);
    bench.done(one, 1);
    gate.resolve();
    await bench.runtime.advance(1_000);
    expect(bench.sent).toEqual(['2:1', '0:1 1:1', '1:1']);
  });

  it('drops the commit of a partition that is fenced and no longer owned', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.owned.delete(0);
    bench.answers.push(new FencedError(of(0), 'not yours'));
    bench.done(zero, 1);
    await bench.runtime.advance(60_000);
    expect(bench.sent).toEqual(['0:1']);
    expect(bench.troubles).toEqual([]);
  });

  it('repeats a fenced commit while the partition is still owned', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new FencedError(of(0, 7), '7 is not yours, 0 had no answer'));
    bench.done(zero, 1);
    await bench.runtime.advance(1_000);
    expect(zero.confirmed).toBe(1);
  });

  it('repeats a commit rarely after a non-retriable error, and never gives up', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(...Array.from({ length: 3 }, () => new AuthorizationError('no right')));
    bench.done(zero, 1);
    await bench.runtime.advance(61_000);
    expect(bench.sent).toHaveLength(3);
    await bench.runtime.advance(30_000);
    expect(zero.confirmed).toBe(1);
  });

  it('flush waits for the commit in flight and the one after it, within its timeout', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    const answer = new Deferred();
    bench.answers.push(answer.promise);
    bench.done(zero, 1);
    const late = watched(bench.committer.flush([zero], 500));
    await bench.runtime.advance(500);
    expect(late.result).toBe(false);
    bench.done(zero, 2);
    const flushed = watched(bench.committer.flush([zero], 500));
    answer.resolve();
    await bench.runtime.settle();
    expect([flushed.result, zero.confirmed]).toEqual([true, 2]);
    await expect(bench.committer.flush([zero], 500)).resolves.toBe(true);
  });

  it('flush does not wait for partitions that always have more to commit', async () => {
    const bench = new Bench();
    bench.takesMs = 6;
    const [busy, leaving] = [new Progress(0), new Progress(1)];
    const more = (): void => {
      bench.done(busy, busy.watermark + 1);
      bench.runtime.setTimer(more, 2);
    };
    more();
    bench.done(leaving, 5);
    const flushed = watched(bench.committer.flush([leaving], 5_000));
    await bench.runtime.advance(20);
    expect([flushed.result, leaving.confirmed]).toEqual([true, 5]);
    bench.committer.close();
  });

  it.each(['commitPoint', 'confirm'] as const)(
    'continues after an internal error in %s',
    async (where) => {
      const bench = new Bench();
      const zero = new Progress(0);
      zero.breaksAt = where;
      bench.done(zero, 1);
      await bench.runtime.advance(1_000);
      bench.done(zero, 2);
      await bench.runtime.advance(1_000);
      expect(zero.confirmed).toBe(2);
      expect(bench.log).toContainEqual(
        expect.objectContaining({ level: 'error', context: { reason: 'a mistake' } }),
      );
    },
  );

  it('commits the other lanes if the commit point of one throws', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const gate = new Deferred();
    bench.answers.push(gate.promise);
    bench.done(new Progress(2), 1);
    zero.breaksAt = 'commitPoint';
    bench.done(zero, 1);
    bench.done(one, 1);
    gate.resolve();
    await bench.runtime.settle();
    expect([bench.sent, one.confirmed]).toEqual([['2:1', '1:1'], 1]);
    expect(bench.troubles).toEqual([expect.objectContaining({ message: 'a mistake' })]);
    await bench.runtime.advance(1_000);
    expect(zero.confirmed).toBe(1);
    expect(bench.troubles.at(-1)).toBeUndefined();
  });

  it('ends the error when the refused partition has left', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const refused = new AuthorizationError('no right');
    bench.answers.push(refused);
    bench.done(zero, 1);
    await bench.runtime.settle();
    bench.committer.forget(zero);
    bench.done(one, 1);
    await bench.runtime.settle();
    expect(bench.troubles).toEqual([refused, undefined]);
    // The other commit does not wait for a lane that was forgotten.
    expect([bench.sent, one.confirmed]).toEqual([['0:1', '1:1'], 1]);
  });

  it('keeps the error while another partition is refused', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const refused = new CommitRefusedError(of(0, 1), 'not now', true);
    const gate = new Deferred();
    bench.answers.push(gate.promise, refused);
    bench.done(new Progress(2), 1);
    bench.done(zero, 1);
    bench.done(one, 1);
    gate.resolve();
    await bench.runtime.settle();
    bench.committer.forget(zero);
    await bench.runtime.settle();
    expect(bench.troubles).toEqual([refused]);
    await bench.runtime.advance(1_000);
    expect([bench.troubles, one.confirmed]).toEqual([[refused, undefined], 1]);
  });

  it('ends the error when a fence shows that another member owns the partition', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    const refused = new CommitRefusedError(of(0), 'not now', true);
    bench.answers.push(refused, new FencedError(of(0), 'gone'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    bench.owned.delete(0);
    await bench.runtime.advance(1_000);
    expect(bench.troubles).toEqual([refused, undefined]);
  });

  it('repeats a refused commit at once when a flush waits for it', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new AuthorizationError('no right'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    const flushed = watched(bench.committer.flush([zero], 1_000));
    await bench.runtime.settle();
    expect(flushed.result).toBe(true);
  });

  it.each([
    ['refused for now', new CommitRefusedError(of(0), 'not now', true)],
    [
      'fenced by the generation before, with the partition ours again',
      new FencedError(of(0), 'late'),
    ],
  ])('does not repeat a commit that was forgotten in flight: %s', async (_, refusal) => {
    const bench = new Bench();
    const [old, anew] = [new Progress(0), new Progress(0)];
    const gate = new Deferred();
    bench.answers.push(gate.promise);
    bench.done(old, 50);
    await bench.runtime.settle();
    bench.committer.forget(old);
    bench.done(anew, 7);
    gate.reject(refusal);
    await bench.runtime.advance(60_000);
    expect(bench.sent).toEqual(['0:50', '0:7']);
  });

  it('sends nothing for a forgotten lane, and nothing once it is closed', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const gate = new Deferred();
    bench.answers.push(gate.promise);
    bench.done(one, 1);
    bench.done(zero, 1);
    bench.committer.forget(zero);
    gate.resolve();
    await bench.runtime.settle();
    bench.committer.close();
    bench.done(one, 2);
    await bench.runtime.advance(1_000);
    expect(bench.sent).toEqual(['1:1']);
    expect(bench.runtime.pendingTimers).toBe(0);
  });
});

describe('Committer.whenStored', () => {
  it('resolves when the present progress is stored, and at once if nothing is new', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    await bench.committer.whenStored(zero);
    const [first, second] = [new Deferred(), new Deferred()];
    bench.answers.push(first.promise, second.promise);
    bench.done(zero, 1);
    const one = watched(bench.committer.whenStored(zero));
    zero.watermark = 2;
    const two = watched(bench.committer.whenStored(zero));
    first.resolve();
    await bench.runtime.settle();
    expect([bench.sent, two.ended]).toEqual([['0:1', '0:2'], false]);
    second.resolve();
    await bench.runtime.settle();
    expect([one.ended, two.ended]).toEqual([true, true]);
  });

  it('waits until a repeated commit is stored', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new CommitRefusedError(of(0), 'not now', true));
    zero.watermark = 1;
    const stored = watched(bench.committer.whenStored(zero));
    await bench.runtime.settle();
    expect(stored.ended).toBe(false);
    await bench.runtime.advance(5_000);
    expect([stored.ended, bench.sent]).toEqual([true, ['0:1', '0:1']]);
  });

  it.each([
    ['its assignment ends', (bench: Bench, zero: Progress) => bench.committer.forget(zero)],
    ['the committer closes', (bench: Bench) => bench.committer.close()],
  ])('resolves when %s', async (_, end) => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new CommitRefusedError(of(0), 'not now', true));
    zero.watermark = 1;
    const stored = watched(bench.committer.whenStored(zero));
    await bench.runtime.settle();
    end(bench, zero);
    await bench.runtime.settle();
    expect(stored.ended).toBe(true);
  });

  it('resolves when another member owns the partition', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.owned.clear();
    bench.answers.push(new FencedError(of(0), 'gone'));
    zero.watermark = 1;
    const stored = watched(bench.committer.whenStored(zero));
    await bench.runtime.settle();
    expect(stored.ended).toBe(true);
  });
});

describe('commit metadata that is too long', () => {
  it('is shortened at once, without a reported error', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    zero.metadata = 3_000;
    bench.answers.push(new OffsetMetadataTooLargeError(of(0), 'too long'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    expect([bench.sent, zero.confirmed, bench.troubles]).toEqual([['0:1', '0:1'], 1, []]);
    expect(bench.budget.units).toBe(1_500);
  });

  it('is an error like any other if there is no metadata to shorten', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new OffsetMetadataTooLargeError(of(0), 'too long'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    expect(bench.troubles).toHaveLength(1);
    bench.committer.close();
    await bench.runtime.settle();
  });
});
