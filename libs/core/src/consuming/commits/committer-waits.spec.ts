import {
  CommitRefusedError,
  FencedError,
  OffsetMetadataTooLargeError,
} from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { watched } from '../session/consuming-test-bed.spec-support.js';
import { Bench, of, Progress } from './committer.spec-support.js';

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
    expect([bench.sent, zero.confirmed, bench.errors]).toEqual([['0:1', '0:1'], 1, []]);
    expect(bench.budget.units).toBe(1_500);
  });

  it('is an error like any other if there is no metadata to shorten', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.answers.push(new OffsetMetadataTooLargeError(of(0), 'too long'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    expect(bench.errors).toHaveLength(1);
    bench.committer.close();
    await bench.runtime.settle();
  });
});
