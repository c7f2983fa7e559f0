import { FencedError } from '@nest-event-bus/broker';
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
