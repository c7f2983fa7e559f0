import { PollIntervalSafetyValve } from './poll-interval-safety-valve.js';

describe('PollIntervalSafetyValve', () => {
  it('ends a slice after more than 70 % of maxPollIntervalMs', () => {
    const valve = new PollIntervalSafetyValve(10_000);
    expect(valve.check(100, 7_100)).toBe(false);
    expect(valve.check(100, 7_101)).toBe(true);
  });
});
