import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { PollIntervalSafetyValve } from './poll-interval-safety-valve.js';

describe('PollIntervalSafetyValve', () => {
  it('ends a slice after more than 70 % of maxPollIntervalMs', async () => {
    const runtime = new VirtualRuntime();
    const valve = new PollIntervalSafetyValve(runtime, 10_000);
    const startedAt = runtime.monotonic();
    await runtime.advance(7_000);
    expect(valve.check(startedAt)).toBe(false);
    await runtime.advance(1);
    expect(valve.check(startedAt)).toBe(true);
  });
});
