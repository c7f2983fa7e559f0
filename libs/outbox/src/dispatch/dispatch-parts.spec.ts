import { ManualRuntime } from '../memory/index.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import { DispatcherWriterHook } from './dispatcher-writer-hook.js';
import { DefaultInFlightTracker } from './in-flight-tracker.js';
import { ExponentialBackoffRetryPolicy } from './retry-policy.js';

describe('DefaultInFlightTracker', () => {
  it('gives an event to one holder until it is released', () => {
    const tracker = new DefaultInFlightTracker();
    expect([tracker.tryAcquire('a'), tracker.tryAcquire('a'), tracker.tryAcquire('b')]).toEqual([
      true,
      false,
      true,
    ]);
    tracker.release('a');
    expect(tracker.tryAcquire('a')).toBe(true);
  });

  it('gives a stale entry away after its TTL, and never without one', async () => {
    const runtime = new ManualRuntime();
    const [withTtl, without] = [
      new DefaultInFlightTracker(1_000, runtime),
      new DefaultInFlightTracker(undefined, runtime),
    ];
    for (const tracker of [withTtl, without]) tracker.tryAcquire('a');
    await runtime.advance(999);
    expect(withTtl.tryAcquire('a')).toBe(false);
    await runtime.advance(1);
    expect(withTtl.tryAcquire('a')).toBe(true);
    expect(without.tryAcquire('a')).toBe(false);
  });
});

describe('ExponentialBackoffRetryPolicy', () => {
  it('doubles the delay from 200 ms up to 60 s', () => {
    const policy = new ExponentialBackoffRetryPolicy(undefined, undefined, () => 0.5);
    expect([1, 2, 3, 9, 10, 5_000].map((attempts) => policy.computeDelayMs(attempts))).toEqual([
      200, 400, 800, 51_200, 60_000, 60_000,
    ]);
  });

  it('limits the delay first, and then multiplies it by 0.5 to 1.5', () => {
    const delay = (random: number): number =>
      new ExponentialBackoffRetryPolicy(200, 60_000, () => random).computeDelayMs(50);
    expect([delay(0), delay(1)]).toEqual([30_000, 90_000]);
  });
});

describe('DispatcherWriterHook', () => {
  it('queues each committed event, and counts and logs those that found the queue full', () => {
    const setup = new OutboxSetup();
    const enqueueHot = jest.fn().mockReturnValueOnce(true).mockReturnValue(false);
    const hook = new DispatcherWriterHook({ enqueueHot }, setup.metrics, setup.logger);
    hook.afterCommit([setup.event('e1'), setup.event('e2'), setup.event('e3')]);
    expect(enqueueHot.mock.calls.map(([event]) => event.envelope.eventId)).toEqual([
      'e1',
      'e2',
      'e3',
    ]);
    expect(setup.counts.incrementHotDropped).toBe(2);
    expect(setup.lines).toEqual([expect.stringMatching(/^warn .* 1 of 3 events.*e2/)]);
  });
});
