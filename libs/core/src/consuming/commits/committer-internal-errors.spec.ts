import { FencedError } from '@nest-event-bus/broker';
import { watched } from '../session/consuming-test-bed.spec-support.js';
import { Bench, of, Progress } from './committer.spec-support.js';

describe('Committer', () => {
  it('keeps a lane and commits it again if the session throws while it is asked for a position', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.owned.has = () => {
      throw new Error('a bug in the session');
    };
    bench.answers.push(new FencedError(of(0), 'not yours'));
    bench.done(zero, 1);
    await bench.runtime.advance(1_000);
    expect([bench.sent, zero.confirmed]).toEqual([['0:1', '0:1'], 1]);
  });

  it('whenStored() does not reject if the lane throws, and resolves when its progress is stored', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    zero.watermark = 1;
    zero.breaksAt = 'commitPoint';
    const stored = watched(bench.committer.whenStored(zero));
    await bench.runtime.advance(1_000);
    expect([stored.ended, zero.confirmed]).toEqual([true, 1]);
  });

  it('repeats a commit after its delay if the listener of commit errors throws', async () => {
    const bench = new Bench();
    const zero = new Progress(0);
    bench.errors.push = () => {
      throw new Error('a bug in the listener');
    };
    bench.answers.push(new FencedError(of(0), 'not yours'));
    bench.done(zero, 1);
    await bench.runtime.settle();
    expect(bench.sent).toEqual(['0:1']);
    await bench.runtime.advance(1_000);
    expect([bench.sent, zero.confirmed]).toEqual([['0:1', '0:1'], 1]);
    expect(bench.log.map(({ message }) => message)).toContain('A listener of commit errors failed');
  });
});
