import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('returns the result of the condition as soon as there is one', async () => {
    const given = [undefined, null, false, 0];
    await expect(eventually(() => given.shift(), { intervalMs: 1 })).resolves.toBe(0);
    expect(given).toEqual([]);
  });

  it('retries a failing expectation', async () => {
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

  it('fails at the deadline, and the message contains the description and the last error', async () => {
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
      'Waited 1000 ms for one member. The last attempt failed: Error: still 2 members',
    );
    await runtime.advance(1_100);
    await outcome;
  });

  it('the error names the result of a condition that returns nothing', async () => {
    const waiting = eventually(() => undefined, { timeoutMs: 0 });
    await expect(waiting).rejects.toThrow('The last attempt gave undefined.');
  });
});
