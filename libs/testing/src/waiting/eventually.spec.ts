import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('gives what the condition gives as soon as that is something', async () => {
    const given = [undefined, null, false, 0];
    await expect(eventually(() => given.shift(), { intervalMs: 1 })).resolves.toBe(0);
    expect(given).toEqual([]);
  });

  it('takes an expectation that fails as not yet', async () => {
    let calls = 0;
    await eventually(
      () => {
        expect(++calls).toBe(3);
        return true;
      },
      { intervalMs: 1 },
    );
    expect(calls).toBe(3);
  });

  it('fails at the deadline, saying what it waited for and why it was not true', async () => {
    const runtime = new VirtualRuntime();
    const condition = (): boolean => {
      throw new Error('still 2 members');
    };
    const waiting = eventually(condition, {
      description: 'one member',
      timeoutMs: 1_000,
      runtime,
    });
    const outcome = expect(waiting).rejects.toThrow(
      'Waited 1000 ms in vain for one member. The last try failed: Error: still 2 members',
    );
    await runtime.advance(1_100);
    await outcome;
  });

  it('names a condition that gives nothing', async () => {
    const waiting = eventually(() => undefined, { timeoutMs: 0 });
    await expect(waiting).rejects.toThrow('The last try gave undefined.');
  });
});
