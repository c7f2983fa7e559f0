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
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { ResilienceDecorator } from './resilience-decorator.js';
import { SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

const succeeded = { kind: 'succeeded' };
const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

let runtime: Unlucky;
/** When the database was asked, and what it answers in turn; at the end it is well. */
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

function worldOf(
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
  const resilience = new ResilienceDecorator({ binding, breaker, runtime, logger });
  const parts = { binding, resilience, runtime, logger };
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

describe.each(ways)('a record for which %s cannot reach what it asks', (_, options) => {
  it('is prepared again, with the waits of retry.tier0, and then handled', async () => {
    answers = [reset, reset];
    expect(await worldOf(options).process()).toEqual(succeeded);
    expect(asked).toEqual([0, 100, 300]);
    expect(handled).toEqual([1]);
    expect(attempts).toEqual([expect.objectContaining({ call: 1 })]);
  });

  it('fails once all that retry.tier0 grants is used up', async () => {
    answers = [reset, reset, reset, reset];
    const failure = { kind: 'failed', error: reset, attempts: 3, reason: 'retry-exhausted' };
    expect(await worldOf(options).process()).toMatchObject(failure);
    expect(asked).toHaveLength(3);
    expect(handled).toEqual([]);
  });

  it("is delivered again with retry.mode 'seek', as often", async () => {
    answers = [reset, reset];
    const { process } = worldOf(options, { mode: 'seek' });
    const again = { kind: 'failed', attempts: 1, reason: 'redeliver', delayMs: 100 };
    expect(await process()).toMatchObject(again);
    expect(await process({ history: { failures: 2 } })).toMatchObject({
      reason: 'retry-exhausted',
    });
    expect(asked).toHaveLength(2);
  });

  it('is handed back where it is called off while it waits', async () => {
    answers = [reset];
    const waiting = new AbortController();
    runtime.setTimer(() => waiting.abort(), 50);
    const outcome = await worldOf(options).process({ waitSignal: waiting.signal });
    expect(outcome).toEqual({ kind: 'handed-back' });
    expect(asked).toEqual([0]);
  });

  it('fails at once where the error is not to be retried', async () => {
    answers = [reset];
    const outcome = await worldOf(options, { nonRetryable: [{ code: 'ECONNRESET' }] }).process();
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 1, reason: 'bad-message' });
  });

  it('says nothing to the circuit, which is about its handler', async () => {
    answers = [reset, reset, reset];
    const { breaker, process } = worldOf(options);
    await process();
    expect(breaker.figures.calls).toBe(0);
    await process();
    expect(breaker.figures).toMatchObject({ calls: 1, failures: 0 });
  });

  it('of a slice waits in its place: those before it are handled, and it comes again', async () => {
    answers = [true, reset, true];
    const { processSlice } = worldOf(options);
    const slice = [1, 2, 3].map((value) => now({}, value));
    expect(await processSlice(slice)).toEqual([succeeded]);
    const failure = { kind: 'failed', error: reset, reason: 'redeliver', delayMs: 100 };
    expect(await processSlice(slice.slice(1))).toMatchObject([failure]);
    expect(handled).toEqual([[1]]);
    expect(await processSlice([now({ history: { failures: 1 } }, 2)])).toEqual([succeeded]);
    expect(handled).toEqual([[1], [2]]);
  });
});

describe('a bad message', () => {
  const failed = async (options: EventHandlerOptions, value: unknown): Promise<Outcome> =>
    worldOf(options).process({ record: deliveryOf({ value }).record });

  it('that cannot be read is not prepared again', async () => {
    const outcome = await failed({ filter: ask }, Buffer.from('{'));
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'DESERIALIZATION' } });
    expect(asked).toEqual([]);
  });

  it('that is refused is not prepared again', async () => {
    answers = [false];
    const outcome = await failed({ payload: asking }, 1);
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'PAYLOAD_VALIDATION' } });
    expect(asked).toHaveLength(1);
  });

  it('that shows only once the database answers has no further try', async () => {
    answers = [reset, false];
    const outcome = await failed({ payload: asking }, 1);
    expect(outcome).toMatchObject({ reason: 'bad-message', error: { code: 'PAYLOAD_VALIDATION' } });
    expect(asked).toHaveLength(2);
  });
});
