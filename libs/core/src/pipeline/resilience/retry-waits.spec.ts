import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Assignment } from '../../model/records/assignment.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import {
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  Unlucky,
} from '../pipeline.spec-support.js';
import { bindingUnderTest, boom, failing } from './resilience.spec-support.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

describe('The wait between calls', () => {
  const revoked = new Error('revoked');

  it('ends at once when the delivery is cancelled: the record is handed back, without another call', async () => {
    const waiting = new AbortController();
    const { begin, runtime, calls, outcomes } = bindingUnderTest(failing);
    begin({ waitSignal: waiting.signal });
    await runtime.advance(250);
    expect(calls).toEqual([0, 100]);
    waiting.abort(revoked);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back', calls: 2 }]);
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(10_000);
    expect(calls).toHaveLength(2);
  });

  it('is followed by no call if the lease of the partition has ended meanwhile', async () => {
    const { begin, runtime, calls, outcomes } = bindingUnderTest(failing);
    const assignment = { holdsLease: true } as Mutable<Assignment>;
    begin({ assignment });
    await runtime.advance(50);
    assignment.holdsLease = false;
    await runtime.advance(10_000);
    expect(calls).toEqual([0]);
    expect(outcomes).toEqual([{ kind: 'handed-back', calls: 1 }]);
  });

  it('does not begin if the delivery was cancelled while the handler ran', async () => {
    const waiting = new AbortController();
    const running = new Deferred();
    const { begin, runtime, outcomes } = bindingUnderTest(() => running.promise);
    begin({ waitSignal: waiting.signal });
    waiting.abort(revoked);
    running.reject(boom);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back', calls: 1 }]);
  });

  it('does not follow the last call, whose failure counts even if the delivery was cancelled', async () => {
    const waiting = new AbortController();
    waiting.abort(revoked);
    const { process } = bindingUnderTest(failing, { tier0: { maxAttempts: 1 } });
    expect(await process({ waitSignal: waiting.signal })).toMatchObject({
      reason: 'retry-exhausted',
    });
  });

  it('is followed by no call if the delivery is cancelled at the moment at which the wait ends', async () => {
    const waiting = new AbortController();
    const { begin, runtime, calls, outcomes } = bindingUnderTest(failing);
    const setTimer = runtime.setTimer.bind(runtime);
    jest.spyOn(runtime, 'setTimer').mockImplementation((ring, delayMs) =>
      setTimer(() => {
        ring();
        waiting.abort(revoked);
      }, delayMs),
    );
    begin({ waitSignal: waiting.signal });
    await runtime.advance(10_000);
    expect(calls).toEqual([0]);
    expect(outcomes).toEqual([{ kind: 'handed-back', calls: 1 }]);
  });

  it('is followed by no call if the delivery is cancelled while the record is prepared again', async () => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf() });
    const second = new Deferred<number>();
    const prepared = [Promise.resolve(1), second.promise];
    let calls = 0;
    const processor = processorOf(
      [
        handler(() => {
          calls++;
          throw boom;
        }),
      ],
      {
        binding,
        runtime,
        logger,
        deserializer: { name: 'slow', deserialize: () => prepared.shift() },
      },
    );
    const waiting = new AbortController();
    const outcome = processor.process({
      ...deliveryOf(),
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
      waitSignal: waiting.signal,
    });
    await runtime.advance(100);
    waiting.abort(revoked);
    second.resolve(2);
    expect(await outcome).toEqual({ kind: 'handed-back', calls: 1 });
    expect(calls).toBe(1);
  });

  it('does not change the number of calls if the record cannot be prepared for another one', async () => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf() });
    const outage = new SchemaRegistryUnavailableException('down');
    const values = [1, 2];
    const deserialize = (): unknown => {
      if (values.length === 0) throw outage;
      return values.shift();
    };
    const processor = processorOf([handler(() => Promise.reject(boom))], {
      binding,
      runtime,
      logger,
      deserializer: { name: 'registered', deserialize },
    });
    const outcome = processor.process({
      ...deliveryOf(),
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
    });
    await runtime.advance(1_000);
    expect(await outcome).toMatchObject({ error: outage, attempts: 2, reason: 'redeliver' });
  });

  it('uses the work signal if the delivery has no wait signal', async () => {
    const work = new AbortController();
    const { begin, runtime, outcomes } = bindingUnderTest(failing);
    begin({ signal: work.signal });
    await runtime.advance(50);
    work.abort(revoked);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back', calls: 1 }]);
  });

  it('is omitted, and the record is handed back, if the handler throws because its work was cancelled', async () => {
    const work = new AbortController();
    work.abort(revoked);
    const { process, breaker } = bindingUnderTest(failing, {
      tier0: { maxAttempts: 1 },
      circuit: {},
    });
    expect(await process({ signal: work.signal })).toEqual({ kind: 'handed-back' });
    expect(breaker.figures.calls).toBe(0);
  });
});
