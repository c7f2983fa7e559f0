import { AuthorizationError, CommitRefusedError, FencedError } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { watched } from '../session/consuming-test-bed.spec-support.js';
import { Bench, of, Progress } from './committer.spec-support.js';

describe('Committer', () => {
  it('keeps one commit in flight, and puts progress made meanwhile into the next one', async () => {
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

  it('repeats a refused commit with the newest offset, and reports when the error begins and ends', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    const refused = new CommitRefusedError(of(0), 'not now', true);
    bench.answers.push(refused, refused);
    bench.done(zero, 1);
    await bench.runtime.settle();
    zero.watermark = 5;
    await bench.runtime.advance(1_000);
    expect(bench.sent).toEqual(['0:1', '0:5', '0:5']);
    expect(bench.errors).toEqual([refused, refused, undefined]);
    expect(zero.confirmed).toBe(5);
  });

  it('repeats only the partitions of a commit that were not stored', async () => {
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

  it('drops a fenced commit of a partition that this member no longer owns', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.owned.delete(0);
    bench.answers.push(new FencedError(of(0), 'not yours'));
    bench.done(zero, 1);
    await bench.runtime.advance(60_000);
    expect(bench.sent).toEqual(['0:1']);
    expect(bench.errors).toEqual([]);
  });

  it('repeats a fenced commit of a partition that this member still owns', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new FencedError(of(0, 7), '7 is not yours, 0 had no answer'));
    bench.done(zero, 1);
    await bench.runtime.advance(1_000);
    expect(zero.confirmed).toBe(1);
  });

  it('repeats a commit every 30 s after a non-retriable error, without a limit', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(...Array.from({ length: 3 }, () => new AuthorizationError('no right')));
    bench.done(zero, 1);
    await bench.runtime.advance(61_000);
    expect(bench.sent).toHaveLength(3);
    await bench.runtime.advance(30_000);
    expect(zero.confirmed).toBe(1);
  });

  it('flush() waits for the commit in flight and the one after it, within its timeout', async () => {
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

  it('flush() of one partition does not wait for other partitions that always have more to commit', async () => {
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
    'continues to commit after an internal error in %s',
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
        expect.objectContaining({
          level: 'error',
          context: expect.objectContaining({ reason: 'RangeError' }),
        }),
      );
    },
  );

  it('commits the other partitions if commitPoint() of one throws', async () => {
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
    expect(bench.errors).toEqual([expect.objectContaining({ message: 'a mistake' })]);
    await bench.runtime.advance(1_000);
    expect(zero.confirmed).toBe(1);
    expect(bench.errors.at(-1)).toBeUndefined();
  });

  it('ends the reported error when the assignment of the refused partition ends', async () => {
    const bench = new Bench();
    const [zero, one] = [new Progress(0), new Progress(1)];
    const refused = new AuthorizationError('no right');
    bench.answers.push(refused);
    bench.done(zero, 1);
    await bench.runtime.settle();
    bench.committer.forget(zero);
    bench.done(one, 1);
    await bench.runtime.settle();
    expect(bench.errors).toEqual([refused, undefined]);
    // The commit of the other lane does not wait for the forgotten lane.
    expect([bench.sent, one.confirmed]).toEqual([['0:1', '1:1'], 1]);
  });

  it('keeps the reported error while another partition is refused', async () => {
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
    expect(bench.errors).toEqual([refused]);
    await bench.runtime.advance(1_000);
    expect([bench.errors, one.confirmed]).toEqual([[refused, undefined], 1]);
  });

  it('ends the reported error when a fence shows that another member owns the partition', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    const refused = new CommitRefusedError(of(0), 'not now', true);
    bench.answers.push(refused, new FencedError(of(0), 'gone'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    bench.owned.delete(0);
    await bench.runtime.advance(1_000);
    expect(bench.errors).toEqual([refused, undefined]);
  });

  it('repeats a refused commit at once when flush() waits for it', async () => {
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
      'fenced by the previous generation, while this member owns the partition again',
      new FencedError(of(0), 'late'),
    ],
  ])(
    'does not repeat a commit if its partition was forgotten while the commit was in flight: %s',
    async (_, refusal) => {
      const bench = new Bench();
      const [old, reassigned] = [new Progress(0), new Progress(0)];
      const gate = new Deferred();
      bench.answers.push(gate.promise);
      bench.done(old, 50);
      await bench.runtime.settle();
      bench.committer.forget(old);
      bench.done(reassigned, 7);
      gate.reject(refusal);
      await bench.runtime.advance(60_000);
      expect(bench.sent).toEqual(['0:50', '0:7']);
    },
  );

  it('sends no commit for a forgotten partition, and none after close()', async () => {
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
