import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import type { EventHandlerOptions } from '../../discovery/decorators/handler-options.js';
import type { StandardSchema } from '../../discovery/decorators/payload-type.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { aDelivery, type GivenDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  Unlucky,
} from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from '../resilience/circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from '../resilience/sliding-circuit-breaker.js';

const succeeded = { kind: 'succeeded' };
const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

let runtime: Unlucky;
/**
 * The times of the queries, and the answers of the database in turn. After the last one it answers
 * normally.
 */
let asked: number[];
let answers: unknown[];
let handled: unknown[];
let attempts: unknown[];

beforeEach(() => {
  runtime = new Unlucky();
  asked = [];
  answers = [];
  handled = [];
  attempts = [];
});

function ask(): boolean {
  asked.push(runtime.monotonic());
  const answer = answers.shift() ?? true;
  if (answer instanceof Error) throw answer;
  return answer as boolean;
}

const asking: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => (ask() ? { value } : { issues: [{ message: 'no' }] }),
  },
};

const ways: readonly [string, EventHandlerOptions][] = [
  ['a filter', { filter: ask }],
  ['a rule of its payload', { payload: asking }],
];

const keep = (options: EventHandlerOptions) =>
  handler((record: EventRecord, context: EventContext) => {
    handled.push(record.value);
    attempts.push(context.attempt);
  }, options);

interface Given {
  readonly mode?: 'in-line' | 'seek';
  readonly nonRetryable?: readonly ErrorMatcher[];
}

function bindingUnderTest(
  options: EventHandlerOptions,
  { mode = 'in-line', nonRetryable = [] }: Given = {},
) {
  const logger = recordingLogger();
  const binding = bindingOf({
    retry: retryOf({}, { mode, nonRetryableExceptions: nonRetryable }),
    circuitBreaker: { ...EVENTBUS_DEFAULTS.binding.circuitBreaker, enabled: true },
  });
  const config = new CircuitBreakerConfigFactory().create(binding)!;
  const breaker = new SlidingCircuitBreaker(config, runtime, logger);
  const parts = { binding, breaker, runtime, logger };
  const processor = processorOf([keep(options)], parts);
  const slices = processorOf([batched(options)], parts);
  return {
    breaker,
    process: (delivery: GivenDelivery = {}) => done(processor.process(now(delivery))),
    processSlice: (slice: readonly Delivery[]) => done(slices.processSlice!(slice)),
  };
}

const batched = (options: EventHandlerOptions) =>
  batchHandler(
    (records: readonly EventRecord[]) => void handled.push(records.map(({ value }) => value)),
    options,
  );

const now = (delivery: GivenDelivery = {}, value: unknown = 1): Delivery =>
  aDelivery({
    record: deliveryOf({ value }).record,
    receivedAt: runtime.now(),
    readySince: runtime.monotonic(),
    ...delivery,
  });

async function done<T>(work: T | Promise<T>): Promise<T> {
  const result = Promise.resolve(work);
  await runtime.advance(100_000);
  return result;
}

describe.each(ways)('Preparation of a record, when %s cannot reach its database', (_, options) => {
  it('is repeated with the waits of retry.tier0, and the record is then handled', async () => {
    answers = [reset, reset];
    expect(await bindingUnderTest(options).process()).toEqual(succeeded);
    expect(asked).toEqual([0, 100, 300]);
    expect(handled).toEqual([1]);
    expect(attempts).toEqual([expect.objectContaining({ call: 1 })]);
  });

  it('fails when the tries of retry.tier0 are used up', async () => {
    answers = [reset, reset, reset, reset];
    const failure = { kind: 'failed', error: reset, attempts: 3, reason: 'retry-exhausted' };
    expect(await bindingUnderTest(options).process()).toMatchObject(failure);
    expect(asked).toHaveLength(3);
    expect(handled).toEqual([]);
  });

  it("delivers the record again with retry.mode 'seek', as often", async () => {
    answers = [reset, reset];
    const { process } = bindingUnderTest(options, { mode: 'seek' });
    const again = { kind: 'failed', attempts: 1, reason: 'redeliver', delayMs: 100 };
    expect(await process()).toMatchObject(again);
    expect(await process({ history: { failures: 2 } })).toMatchObject({
      reason: 'retry-exhausted',
    });
    expect(asked).toHaveLength(2);
  });

  it('hands the record back if the delivery is cancelled during a wait', async () => {
    answers = [reset];
    const waiting = new AbortController();
    runtime.setTimer(() => waiting.abort(), 50);
    const outcome = await bindingUnderTest(options).process({ waitSignal: waiting.signal });
    expect(outcome).toEqual({ kind: 'handed-back' });
    expect(asked).toEqual([0]);
  });

  it('fails at once if the error must not be retried', async () => {
    answers = [reset];
    const outcome = await bindingUnderTest(options, {
      nonRetryable: [{ code: 'ECONNRESET' }],
    }).process();
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 1, reason: 'bad-message' });
  });

  it('is not counted by the circuit breaker, which is about the handler', async () => {
    answers = [reset, reset, reset];
    const { breaker, process } = bindingUnderTest(options);
    await process();
    expect(breaker.figures.calls).toBe(0);
    await process();
    expect(breaker.figures).toMatchObject({ calls: 1, failures: 0 });
  });

  it('keeps a record of a slice in its place: the records before it are handled, and it is delivered again', async () => {
    answers = [true, reset, true];
    const { processSlice } = bindingUnderTest(options);
    const slice = [1, 2, 3].map((value) => now({}, value));
    expect(await processSlice(slice)).toEqual([succeeded]);
    const failure = { kind: 'failed', error: reset, reason: 'redeliver', delayMs: 100 };
    expect(await processSlice(slice.slice(1))).toMatchObject([failure]);
    expect(handled).toEqual([[1]]);
    expect(await processSlice([now({ history: { failures: 1 } }, 2)])).toEqual([succeeded]);
    expect(handled).toEqual([[1], [2]]);
  });
});

describe('A bad message', () => {
  const failed = async (options: EventHandlerOptions, value: unknown): Promise<Outcome> =>
    bindingUnderTest(options).process({ record: deliveryOf({ value }).record });

  it('is not prepared again if it cannot be decoded', async () => {
    const outcome = await failed({ filter: ask }, Buffer.from('{'));
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'DESERIALIZATION' } });
    expect(asked).toEqual([]);
  });

  it('is not prepared again if its payload is refused', async () => {
    answers = [false];
    const outcome = await failed({ payload: asking }, 1);
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'PAYLOAD_VALIDATION' } });
    expect(asked).toHaveLength(1);
  });

  it('gets no further try if it turns out to be bad in a retry', async () => {
    answers = [reset, false];
    const outcome = await failed({ payload: asking }, 1);
    expect(outcome).toMatchObject({ reason: 'bad-message', error: { code: 'PAYLOAD_VALIDATION' } });
    expect(asked).toHaveLength(2);
  });
});
