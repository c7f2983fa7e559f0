import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EXCEPTION_CLASSIFIER } from '../../src/discovery/decorators/tokens.js';
import { ExceptionRoutingDecision } from '../../src/model/outcomes/exception-routing-decision.js';
import {
  eventbusHeader,
  fail,
  RecordingTestBus,
} from '../support/recording-test-bus.spec-support.js';

let testBus: RecordingTestBus;

beforeEach(async () => {
  testBus = await RecordingTestBus.create();
});

afterEach(() => testBus.end());

const once = { retry: { tier0: { maxAttempts: 1 }, tiers: [] } };

describe('The destination of a failed record', () => {
  const skip = (tier: number) => ({ match: RangeError, tier });

  it('is the tier of the most specific match in skipToTierMapping', async () => {
    testBus.handle = () => {
      throw new RangeError('later');
    };
    await testBus.startHandler({
      retry: { skipToTierMapping: [skip(2), { match: Error, tier: 1 }] },
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(100_000);
    expect([...new Set(testBus.calls.map(({ topic }) => topic))]).toEqual([
      'orders',
      'orders.retry-2',
    ]);
  });

  it('is the dead-letter topic with orderingMode STRICT and strictExhaustion DLT', async () => {
    await testBus.startHandler({ orderingMode: 'STRICT' });
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(10_000);
    expect(await testBus.deadLetters()).toEqual(['1', '2']);
    expect(await testBus.values('orders.retry-1')).toEqual([]);
  });

  it('is decided by an operator with strictExhaustion PAUSE_PARTITION', async () => {
    testBus.handle = ({ value }) => (value === 1 ? fail() : undefined);
    const application = await testBus.startHandler({
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(60 * 60_000);
    expect(testBus.calls.map(({ value }) => value)).toEqual([1, 1, 1]);
    const lifecycle = application.get(LifecycleManager);
    await testBus.done(lifecycle.pause('orders'));
    await testBus.done(lifecycle.resume('orders'));
    await testBus.runtime.advance(60_000);
    expect(testBus.calls).toHaveLength(3);
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.decide('orders', { topic: 'orders', partition: 0 }, 'retry'));
    await testBus.runtime.advance(60_000);
    expect(testBus.calls).toHaveLength(6);
    await testBus.done(
      connector.decide('orders', { topic: 'orders', partition: 0 }, 'dead-letter'),
    );
    await testBus.runtime.advance(60_000);
    expect(testBus.calls.at(-1)?.value).toBe(2);
    const [letter] = await testBus.records('orders.DLT');
    const names = ['dlt-reason', 'dlt-cause', 'last-exception-message', 'tier0-exception'];
    expect([...names, 'total-attempts'].map((name) => eventbusHeader(letter!, name))).toEqual([
      'MANUAL',
      'operator',
      'the warehouse does not answer',
      'Error',
      '6',
    ]);
    expect(await testBus.committed()).toBe(2);
  });

  it('is decided by an operator for the given offset only, not for the next record of the partition', async () => {
    const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const;
    const application = await testBus.startHandler(strict);
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(10_000);
    const connector = application.get(EventBusConnector);
    const place = { topic: 'orders', partition: 0 };
    const skip = (named: { readonly offset?: number | bigint } = {}) =>
      testBus.done(connector.decide('orders', { ...place, ...named }, 'skip'));
    expect(testBus.health(application).bindings[0]?.reasons).toEqual([
      'eventbus-orders: orders-0 waits (strict) for a decision about offset 0',
    ]);
    await skip({ offset: 0n });
    await testBus.runtime.advance(5_000);
    await expect(skip({ offset: 0 })).rejects.toThrow(
      "Offset 0 of orders-0 waits for no decision in this process, but offset 1 does. It may have been decided about already: look at the health of binding 'orders'.",
    );
    await testBus.runtime.advance(5_000);
    expect(await testBus.committed()).toBe(1);
    await skip({ offset: 1 });
    await testBus.runtime.advance(5_000);
    await skip();
    await testBus.runtime.advance(5_000);
    expect(await testBus.committed()).toBe(3);
    await expect(skip({ offset: 2 })).rejects.toThrow(
      'Offset 2 of orders-0 waits for no decision in this process. Look at the health of binding',
    );
  });

  it('is the dead-letter topic if an operator decides so, as soon as that topic exists', async () => {
    const strict = { orderingMode: 'STRICT', strictExhaustion: 'PAUSE_PARTITION' } as const;
    const application = await testBus.startHandler({ ...strict, dlt: { topic: 'late' } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    const connector = application.get(EventBusConnector);
    await testBus.done(
      connector.decide('orders', { topic: 'orders', partition: 0 }, 'dead-letter'),
    );
    await testBus.runtime.advance(60_000);
    expect(await testBus.committed()).toBe(0);
    expect(testBus.health(application).status).toBe('DOWN');
    await testBus.topic('late');
    await testBus.runtime.advance(120_000);
    expect(testBus.calls).toHaveLength(3);
    const [letter] = await testBus.records('late');
    expect(eventbusHeader(letter!, 'last-exception-message')).toBe('the warehouse does not answer');
    expect(await testBus.committed()).toBe(1);
    expect(testBus.health(application).status).toBe('UP');
  });

  it("is the dead-letter topic if the retry budget is exceeded, or the next tier with onBudgetExceeded: 'NEXT_TIER'", async () => {
    // One call takes more than half of the budget, so a second call after the wait would exceed the
    // budget.
    const failSlowly = async (): Promise<void> => {
      await new Promise<void>((resolve) => testBus.runtime.setTimer(resolve, 35_000));
      fail();
    };
    testBus.handle = failSlowly;
    const slow = { maxPollIntervalMs: 50_000, maxPollRecords: 1 };
    await testBus.startHandler(slow);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(40_000);
    const [letter] = await testBus.records('orders.DLT');
    expect(eventbusHeader(letter!, 'dlt-cause')).toBe('budget-exceeded');
    await testBus.end();
    testBus = await RecordingTestBus.create();
    testBus.handle = failSlowly;
    await testBus.startHandler({ ...slow, retry: { onBudgetExceeded: 'NEXT_TIER' } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(40_000);
    expect(await testBus.values('orders.retry-1')).toEqual(['1']);
  });

  it('is the dead-letter topic after poisonAfter calls that fail with the same error', async () => {
    await testBus.startHandler({ retry: { poisonAfter: 6 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20 * 60_000);
    expect(testBus.calls).toHaveLength(6);
    const [letter] = await testBus.records('orders.DLT');
    expect(eventbusHeader(letter!, 'dlt-cause')).toBe('poison');
  });

  it('does not depend on poisonAfter if the calls fail with different errors', async () => {
    let count = 0;
    testBus.handle = () => {
      throw new Error(`failure ${++count}`);
    };
    await testBus.startHandler({ retry: { poisonAfter: 3 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20 * 60_000);
    expect(testBus.calls).toHaveLength(30);
  });

  it('is decided by the classifier of the application, not by the default rules', async () => {
    const seen: unknown[] = [];
    const classifier = {
      classify: (error: Error, tier: number) => {
        seen.push([error.message, tier]);
        return ExceptionRoutingDecision.skipToTier(3);
      },
    };
    await testBus.startHandler({}, [{ provide: EXCEPTION_CLASSIFIER, useValue: classifier }]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(seen[0]).toEqual(['the warehouse does not answer', 0]);
    expect(await testBus.values('orders.retry-3')).toEqual(['1']);
  });

  it('is its own partition with PAUSE_CONTAINER: the record is delivered again after a resume', async () => {
    const classifier = { classify: () => ExceptionRoutingDecision.pauseContainer() };
    const application = await testBus.startHandler(once, [
      { provide: EXCEPTION_CLASSIFIER, useValue: classifier },
    ]);
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(60_000);
    const callsBefore = testBus.calls.length;
    expect(callsBefore).toBeLessThan(4);
    expect(testBus.health(application)).toMatchObject({
      status: 'DEGRADED',
      bindings: [{ reasons: expect.arrayContaining(['paused: routing']) as string[] }],
    });
    testBus.handle = () => undefined;
    await testBus.done(application.get(LifecycleManager).resume('orders'));
    await testBus.runtime.advance(10_000);
    expect(testBus.calls.slice(callsBefore).map(({ value }) => value)).toEqual([1, 2]);
    expect(await testBus.deadLetters()).toEqual([]);
  });

  it('is the dead-letter topic when the handler calls deadLetter()', async () => {
    testBus.handle = (_, context) => context.deadLetter('the customer is gone');
    await testBus.startHandler();
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    expect(testBus.calls).toHaveLength(1);
    const [letter] = await testBus.records('orders.DLT');
    expect([eventbusHeader(letter!, 'dlt-reason'), eventbusHeader(letter!, 'dlt-cause')]).toEqual([
      'MANUAL',
      'handler',
    ]);
    expect(eventbusHeader(letter!, 'last-exception-message')).toBe('the customer is gone');
  });
});

describe('Routing options of the application', () => {
  it('exceptionRouting uses the most specific match', async () => {
    testBus.handle = () => {
      throw new RangeError('later');
    };
    await testBus.startHandler({
      exceptionRouting: [
        { match: Error, routing: 'DEAD_LETTER' },
        { match: RangeError, routing: 'SKIP_TO_TIER', tier: 3 },
      ],
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(5_000);
    expect(await testBus.values('orders.retry-3')).toEqual(['1']);
    expect(await testBus.deadLetters()).toEqual([]);
  });

  it('exceptionRouting with PAUSE_CONTAINER pauses the binding even if the record exceeds its retry budget', async () => {
    testBus.handle = async () => {
      await new Promise<void>((resolve) => testBus.runtime.setTimer(resolve, 35_000));
      fail();
    };
    const application = await testBus.startHandler({
      maxPollIntervalMs: 50_000,
      maxPollRecords: 1,
      exceptionRouting: [{ match: Error, routing: 'PAUSE_CONTAINER' }],
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(40_000);
    expect(testBus.health(application).bindings).toMatchObject([{ state: 'PAUSED' }]);
    expect(await testBus.deadLetters()).toEqual([]);
    expect(await testBus.committed()).toBe(0);
  });

  it('classifier of the binding has precedence over the classifier of the application', async () => {
    const deadLetter = { classify: () => ExceptionRoutingDecision.deadLetter() };
    const skip = { classify: () => ExceptionRoutingDecision.skipToTier(3) };
    await testBus.startHandler({ classifier: deadLetter }, [
      { provide: EXCEPTION_CLASSIFIER, useValue: skip },
    ]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(5_000);
    expect(await testBus.deadLetters()).toEqual(['1']);
  });
});
