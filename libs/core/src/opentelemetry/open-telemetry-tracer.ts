import {
  errorNameOf,
  errorReasonOf,
  type BrokerRecord,
  type DriverLogger,
  type OffsetCommit,
  type OutgoingRecord,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api';
import type {
  EventBusTracer,
  ProcessTrace,
  SendTrace,
  TracedContainer,
} from '../model/extension-points/event-bus-tracer.js';
import type { Outcome } from '../model/outcomes/outcome.js';
import {
  ATTRIBUTES,
  OWN_ATTRIBUTES,
  renamed,
  type SemanticConventions,
} from './attribute-names.js';
import { headerGetter, headerSetter } from './header-carrier.js';

export interface TracingOptions {
  /**
   * How the span of a record is connected with the span that sent it. `link`, the default, begins a
   * trace for each record. `parent` continues the trace of the sender. A batch always has links.
   */
  readonly connectBy?: 'link' | 'parent';
  /** Version of the attribute names. Default `'1.45'`. */
  readonly semanticConventions?: SemanticConventions;
  /**
   * Share of the records, polls and commits that get a span, from 0 to 1. Default 1. The others cost
   * next to nothing, because the SDK and its sampler are not asked. Sends always ask the SDK.
   */
  readonly sampleRatio?: number;
}

const NO_LINKS: readonly Link[] = [];

/** Creates spans with the tracer that the application has registered. */
export class OpenTelemetryTracer implements EventBusTracer {
  readonly #tracer: Tracer;
  readonly #version: SemanticConventions;
  readonly #connectBy: 'link' | 'parent';
  readonly #sampleRatio: number;
  readonly #processSpans = new WeakMap<TracedContainer, ProcessSpan>();
  #hasWarned = false;

  constructor(
    options: TracingOptions,
    private readonly logger: Pick<DriverLogger, 'warn'>,
    private readonly runtime: Pick<Runtime, 'random'>,
  ) {
    this.#tracer = trace.getTracer('@nest-event-bus/core');
    this.#version = options.semanticConventions ?? '1.45';
    this.#connectBy = options.connectBy ?? 'link';
    this.#sampleRatio = options.sampleRatio ?? 1;
  }

  process(of: TracedContainer, records: readonly BrokerRecord[]): ProcessTrace | undefined {
    if (!this.#isSampled()) return undefined;
    return this.#try(() => {
      const [first] = records;
      if (!first) return undefined;
      const isChild = this.#connectBy === 'parent' && records.length === 1;
      const parent = isChild ? originOf(first) : ROOT_CONTEXT;
      const { name, options } = this.#processSpan(of);
      const span = this.#tracer.startSpan(name, options, parent);
      if (!isSpanContextValid(span.spanContext())) return undefined;
      // The SDK may have refused to sample it. Then the rest would cost time, and nobody would see it.
      if (!span.isRecording()) return this.#unsampledTrace(span, parent);
      if (!isChild) span.addLinks(linksTo(records.map(originOf)));
      span.setAttributes(this.#attributesOfRecords(first, records.length));
      return this.#processTrace(span, parent);
    });
  }

  send(topic: string, records: readonly OutgoingRecord[]): SendTrace | undefined {
    return this.#try(() => {
      const active = context.active();
      const causes = records.map(({ headers = [] }) =>
        propagation.extract(active, headers, headerGetter),
      );
      const isActive = trace.getSpan(active) !== undefined;
      // Records of an outbox were written in traces of their own, and each keeps its trace.
      const isMixed = !isActive && new Set(causes.map(traceIdOf)).size > 1;
      const parent = isActive || isMixed ? active : (causes[0] ?? active);
      const span = this.#start('send', topic, parent, {
        kind: SpanKind.PRODUCER,
        links: isMixed ? linksTo(causes) : [],
        attributes: records.length > 1 ? { [ATTRIBUTES.batchCount]: records.length } : {},
      });
      if (!span) return undefined;
      const spanContext = trace.setSpan(parent, span);
      const traced = records.map((record, index) => {
        if (isMixed && traceIdOf(causes[index]!) !== undefined) return record;
        const headers = [...(record.headers ?? [])];
        propagation.inject(spanContext, headers, headerSetter);
        return { ...record, headers };
      });
      return { records: traced, end: (error) => this.#end(span, error) };
    });
  }

  polled(of: TracedContainer, records: readonly BrokerRecord[], startedAt: number): void {
    if (!this.#isSampled()) return;
    this.#try(() => {
      const span = this.#start('poll', of.topic, ROOT_CONTEXT, {
        kind: SpanKind.CLIENT,
        startTime: startedAt,
        attributes: { ...this.#attributesOf(of), [ATTRIBUTES.batchCount]: records.length },
      });
      span?.end();
    });
  }

  settled(
    of: TracedContainer,
    commits: readonly OffsetCommit[],
    startedAt: number,
    error?: unknown,
  ): void {
    if (!this.#isSampled()) return;
    this.#try(() => {
      const [only] = commits;
      const span = this.#start('commit', of.topic, ROOT_CONTEXT, {
        kind: SpanKind.CLIENT,
        startTime: startedAt,
        attributes: {
          ...this.#attributesOf(of),
          ...(commits.length === 1 && only && { [ATTRIBUTES.partition]: String(only.partition) }),
        },
      });
      if (span) this.#end(span, error);
    });
  }

  #isSampled(): boolean {
    return this.#sampleRatio === 1 || this.runtime.random() < this.#sampleRatio;
  }

  /** Returns what all spans of a container have in common. It is created once per container. */
  #processSpan(of: TracedContainer): ProcessSpan {
    let found = this.#processSpans.get(of);
    if (!found) {
      const attributes = { ...this.#attributesFor('process', of.topic), ...this.#attributesOf(of) };
      found = { name: `process ${of.topic}`, options: { kind: SpanKind.CONSUMER, attributes } };
      this.#processSpans.set(of, found);
    }
    return found;
  }

  #attributesOfRecords(first: BrokerRecord, count: number): Attributes {
    const isBatch = count > 1;
    return {
      ...(isBatch
        ? { [ATTRIBUTES.batchCount]: count }
        : renamed('offset', first.offset, this.#version)),
      ...(!isBatch && first.value === null && renamed('tombstone', true, this.#version)),
      [ATTRIBUTES.partition]: String(first.partition),
    };
  }

  /** The handler runs in the context of the span all the same, so that its own spans are not sampled. */
  #unsampledTrace(span: Span, parent: Context): ProcessTrace {
    const active = trace.setSpan(parent, span);
    return { run: (work) => this.#runIn(active, work), end: () => undefined };
  }

  #processTrace(span: Span, parent: Context): ProcessTrace {
    const active = trace.setSpan(parent, span);
    return {
      run: (work) => this.#runIn(active, work),
      end: (outcomes) => {
        this.#try(() => {
          const failed = outcomes.find(isFailure);
          span.setAttribute(OWN_ATTRIBUTES.outcome, kindOf(outcomes));
          if (failed) {
            span.setStatus({ code: SpanStatusCode.ERROR });
            span.setAttribute(ATTRIBUTES.errorType, errorTypeOf(failed));
          }
        });
        this.#try(() => span.end());
      },
    };
  }

  /** Calls the function exactly once, even if the context manager throws. */
  #runIn<T>(active: Context, work: () => T): T {
    let result: { readonly value: T } | undefined;
    let hasBegun = false;
    this.#try(() =>
      context.with(active, () => {
        hasBegun = true;
        result = { value: work() };
      }),
    );
    if (result) return result.value;
    if (hasBegun) throw new Error('The traced work threw, which no step of the pipeline does.');
    return work();
  }

  #attributesFor(operation: Operation, topic: string): Attributes {
    return {
      ...renamed('system', 'kafka', this.#version),
      [ATTRIBUTES.operationName]: operation,
      [ATTRIBUTES.operationType]: OPERATION_TYPES[operation],
      [ATTRIBUTES.destination]: topic,
    };
  }

  /** Returns undefined if no SDK is registered, so that nothing more is paid. */
  #start(
    operation: Operation,
    topic: string,
    parent: Context,
    { attributes, ...options }: SpanOptions,
  ): Span | undefined {
    const span = this.#tracer.startSpan(
      `${operation} ${topic}`,
      {
        ...options,
        attributes: {
          ...this.#attributesFor(operation, topic),
          ...attributes,
        },
      },
      parent,
    );
    return isSpanContextValid(span.spanContext()) ? span : undefined;
  }

  #attributesOf({ binding, groupId, clientId, tier }: TracedContainer): Attributes {
    return {
      [ATTRIBUTES.group]: groupId,
      [ATTRIBUTES.clientId]: clientId,
      [OWN_ATTRIBUTES.binding]: binding,
      [OWN_ATTRIBUTES.tier]: tier,
    };
  }

  #end(span: Span, error: unknown): void {
    this.#try(() => {
      if (error === undefined) return;
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute(ATTRIBUTES.errorType, errorNameOf(error));
    });
    this.#try(() => span.end());
  }

  /** A tracing library that throws must not change what happens to a record. */
  #try<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (this.#hasWarned) return undefined;
      this.#hasWarned = true;
      this.logger.warn(
        'The tracing library threw. Records are handled all the same; further errors of it are not logged',
        { reason: errorReasonOf(error) },
      );
      return undefined;
    }
  }
}

type Operation = keyof typeof OPERATION_TYPES;

/** The parts of a span that all records of a container have in common. */
interface ProcessSpan {
  readonly name: string;
  readonly options: SpanOptions;
}

const OPERATION_TYPES = {
  send: 'send',
  process: 'process',
  poll: 'receive',
  commit: 'settle',
} as const;

function originOf({ headers }: BrokerRecord): Context {
  return propagation.extract(ROOT_CONTEXT, headers, headerGetter);
}

const traceIdOf = (origin: Context): string | undefined => trace.getSpanContext(origin)?.traceId;

function linksTo(origins: readonly Context[]): Link[] {
  return origins.flatMap((origin) => {
    const sender = trace.getSpanContext(origin);
    return sender ? [{ context: sender }] : NO_LINKS;
  });
}

function isFailure({ kind }: Outcome): boolean {
  return kind === 'failed' || kind === 'retried' || kind === 'dead-lettered';
}

/** Returns the outcome of all records, or `mixed`. */
function kindOf(outcomes: readonly Outcome[]): string {
  const [first = 'handed-back', ...others] = new Set(outcomes.map(({ kind }) => kind));
  return others.length === 0 ? first : 'mixed';
}

function errorTypeOf(outcome: Outcome): string {
  if (outcome.kind === 'failed') return errorNameOf(outcome.error);
  return outcome.kind === 'dead-lettered' ? outcome.cause : outcome.kind;
}
