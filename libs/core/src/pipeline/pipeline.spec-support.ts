import type { BrokerRecord, RecordHeader } from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import type {
  ResolvedBinding,
  ResolvedRetry,
  ResolvedTier0,
} from '../config/resolving/resolved-binding.js';
import type { EventHandlerOptions } from '../discovery/decorators/handler-options.js';
import { describeHandler, recordHandler } from '../discovery/calling/handler-functions.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import type { DeliveryHistory } from '../model/outcomes/delivery-history.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import { aDelivery, type GivenDelivery } from '../model/outcomes/outcomes.spec-support.js';
import type { EventContext } from '../model/records/event-context.js';
import type { EventRecord } from '../model/records/event-record.js';
import {
  handedBack,
  isFinal,
  type Outcome,
  type RecordProcessor,
  settledOutcomes,
} from '../model/outcomes/outcome.js';
import type { RecordHandler, SliceHandler } from '../model/extension-points/record-handler.js';
import { jsonDeserializer } from './decoding/plain-formats.js';
import {
  createRecordPipeline,
  type RecordPipelineParts,
  type RecordPipelineSteps,
} from './record-pipeline.js';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>> | undefined;
}

export function recordingLogger() {
  const lines: LogLine[] = [];
  const at =
    (level: string) =>
    (message: string, context?: Readonly<Record<string, unknown>>): void => {
      lines.push({ level, message, context });
    };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export function bindingOf(properties: Partial<ResolvedBinding> = {}): ResolvedBinding {
  const binding: Partial<ResolvedBinding> = {
    name: 'orders',
    cluster: 'default',
    topic: 'orders.events',
    groupId: 'order-service',
    typeFrom: 'event-type',
    dlt: { exceptionDetail: 'full' } as ResolvedBinding['dlt'],
    schemaVersion: { from: 'schema-version', supported: [] },
    unknownType: 'skip',
    enhancers: 'local',
    idempotency: EVENTBUS_DEFAULTS.binding.idempotency,
    transactions: EVENTBUS_DEFAULTS.binding.transactions,
    maxPollIntervalMs: 600_000,
    expectedProcessingMs: 0,
    retry: retryOf({ maxAttempts: 1 }),
    ...properties,
  };
  return binding as ResolvedBinding;
}

/** Returns the default retry configuration with some changes. */
export function retryOf(
  tier0: Partial<ResolvedTier0> = {},
  rest: Partial<ResolvedRetry> = {},
): ResolvedRetry {
  return {
    mode: 'in-line',
    tiers: [],
    onBudgetExceeded: 'DLT',
    poisonAfter: 0,
    retryableExceptions: [],
    nonRetryableExceptions: [],
    skipToTierMapping: [],
    ...rest,
    tier0: {
      maxAttempts: 3,
      initialBackoffMs: 100,
      multiplier: 2,
      maxBackoffMs: 2_000,
      maxElapsedMs: 0,
      jitter: 'capped',
      ...tier0,
    },
  };
}

export interface DeliveredRecord {
  readonly value?: unknown;
  readonly key?: string;
  readonly offset?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly history?: Partial<DeliveryHistory>;
}

/** Creates a delivery. A value that is neither a Buffer nor null is written as JSON. */
export function deliveryOf(given: DeliveredRecord = {}, rest: GivenDelivery = {}): Delivery {
  return aDelivery({
    record: brokerRecord(given),
    history: given.history,
    receivedAt: 1_700_000_000_000,
    sessionIndex: 2,
    ...rest,
  });
}

function brokerRecord({ value = {}, key, offset = 0, ...rest }: DeliveredRecord): BrokerRecord {
  const headers = {
    ...rest.headers,
    ...(rest.type === undefined ? {} : { 'event-type': rest.type }),
  };
  return {
    topic: 'orders.events',
    partition: 1,
    offset,
    timestamp: 1_600_000_000_000,
    leaderEpoch: 0,
    key: key === undefined ? null : Buffer.from(key),
    value: value === null || Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
    headers: Object.entries(headers).map(([name, text]): RecordHeader => ({
      key: name,
      value: Buffer.from(text),
    })),
    sizeInBytes: 0,
  };
}

export function processorOf(
  handlers: readonly HandlerDefinition[],
  parts: Partial<RecordPipelineParts> = {},
  steps?: RecordPipelineSteps,
): RecordProcessor {
  return createRecordPipeline(pipelineParts(handlers, parts), steps);
}

export function pipelineParts(
  handlers: readonly HandlerDefinition[],
  parts: Partial<RecordPipelineParts> = {},
): RecordPipelineParts {
  return {
    binding: bindingOf(),
    tier: 0,
    problems: { report: () => undefined },
    runtime: new VirtualRuntime(),
    logger: recordingLogger(),
    ...parts,
    deserializer: parts.deserializer ?? jsonDeserializer,
    handlers,
  };
}

/** Processes a slice call by call, as a lane does, and stops at a record that is not done. */
export async function wholeSliceOf(
  processor: RecordProcessor,
  slice: readonly Delivery[],
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < slice.length && outcomes.every(isFinal)) {
    const next = await processor.processSlice!(slice.slice(outcomes.length));
    if (next.length === 0) break;
    outcomes.push(...(await settledOutcomes(next)));
  }
  return slice.map((_, index) => outcomes[index] ?? handedBack);
}

export function handler(handle: RecordHandler<never>, options: EventHandlerOptions = {}) {
  return recordHandler('orders', handle, options);
}

export function batchHandler(
  handle: SliceHandler<never>,
  options: EventHandlerOptions = {},
): HandlerDefinition {
  return {
    ...describeHandler('orders', 'slice', 'a batch handler', options),
    invoke: handle,
  };
}

/** Returns the error of a failure, and throws for any other outcome. */
export function errorOf(outcome: Outcome): Error {
  if (outcome.kind !== 'failed') throw new Error(`expected a failure, found ${outcome.kind}`);
  return outcome.error;
}

/** Returns an outcome, and throws if it is a promise. */
export function now(outcome: Outcome | Promise<Outcome>): Outcome {
  if (outcome instanceof Promise) throw new Error('expected an outcome, found a promise of one');
  return outcome;
}

/** Returns the record and the context that a handler got. */
export function receive(
  given: DeliveredRecord = {},
  delivery: Delivery = deliveryOf(given),
  tier = 0,
) {
  const logger = recordingLogger();
  const received: { record?: EventRecord; context?: EventContext } = {};
  const keep = handler((record, context) => void Object.assign(received, { record, context }));
  now(processorOf([keep], { logger, tier }).process(delivery));
  return { record: received.record!, context: received.context!, delivery, logger };
}

/** A runtime whose random numbers never shorten a wait. */
export class Unlucky extends VirtualRuntime {
  override random(): number {
    return 0;
  }
}
