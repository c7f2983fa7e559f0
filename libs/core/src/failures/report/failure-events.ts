import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { delayMsOf } from '../../config/resolving/tier-delay.js';
import type { EventException, NextStep } from '../../model/events/event-bus-events.js';
import type { BindingEventSink } from '../../model/events/event-sink.js';
import { RecordPosition } from '../../model/events/record-position.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { DeadLetterReason, RetryDestination } from '../../model/outcomes/destination.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { readRetryHistory } from '../../model/records/retry-history.js';

export interface FailureEventsParts {
  readonly binding: Pick<ResolvedBinding, 'groupId' | 'dlt' | 'retry'>;
  readonly events: BindingEventSink;
  readonly runtime: Pick<Runtime, 'now'>;
}

/** Steps after which the record is given up, or waits for an operator. */
const FINAL_STEPS: ReadonlySet<NextStep['kind']> = new Set([
  'dead-letter',
  'discard',
  'wait-for-decision',
  'pause-binding',
]);

/** Emits the events of failed records from their reports. */
export class FailureEvents {
  constructor(private readonly parts: FailureEventsParts) {}

  failed(report: FailureReport, next: NextStep): void {
    this.parts.events.emit('record.failed', {
      ...identityOf(report),
      exception: exceptionOf(report),
      next,
      isFinal: FINAL_STEPS.has(next.kind),
    });
  }

  /** Says that the retry topic has acknowledged the record. */
  retried(report: FailureReport, destination: RetryDestination): void {
    const { topic, tier, delivery } = destination;
    const dueAt = this.#dueAt(destination);
    const written = { topic, tier, delivery, dueAt };
    const exception = exceptionOf(report);
    this.parts.events.emit('record.retried', { ...identityOf(report), exception, ...written });
  }

  /** Says that the dead-letter topic has acknowledged the record. */
  deadLettered(report: FailureReport, { reason, cause }: DeadLetterReason): void {
    const { isPoison, firstFailureAt } = report;
    const { topic } = this.parts.binding.dlt;
    this.parts.events.emit('record.dead-lettered', {
      ...identityOf(report),
      exception: exceptionOf(report),
      topic,
      reason,
      cause,
      isPoison,
      firstFailureAt,
    });
  }

  /** Says that a `@DltHandler` has discarded the record. */
  discardedByHandler(report: FailureReport): void {
    const { groupId, record, origin } = identityOf(report);
    const reason = 'dlt-handler';
    this.parts.events.emit('record.discarded', { groupId, record, origin, reason });
  }

  discarded({ record }: Delivery, tier: number, reason: string): void {
    if (!this.parts.events.wants('record.discarded')) return;
    this.parts.events.emit('record.discarded', { ...this.#placeOf(record, tier), reason });
  }

  /** Says that a record has succeeded. Emits nothing if it had not failed before. */
  recovered({ record, history }: Delivery, tier: number, failedCalls: number): void {
    if (tier === 0 && history.failures === 0 && failedCalls === 0) return;
    if (!this.parts.events.wants('record.recovered')) return;
    const earlier = readRetryHistory(record, tier);
    const call = failedCalls + 1;
    const attempt = {
      call,
      delivery: tier === 0 ? history.failures + 1 : earlier.delivery,
      tier,
      total: earlier.totalAttempts + history.calls + call,
    };
    this.parts.events.emit('record.recovered', { ...this.#placeOf(record, tier), attempt });
  }

  retryStep(destination: RetryDestination): NextStep {
    return { ...destination, dueAt: this.#dueAt(destination) };
  }

  deadLetterStep({ reason, cause }: DeadLetterReason): NextStep {
    return { kind: 'dead-letter', topic: this.parts.binding.dlt.topic, reason, cause };
  }

  #placeOf(record: BrokerRecord, tier: number) {
    const { topic, partition, offset } = readRetryHistory(record, tier).original;
    return {
      groupId: this.parts.binding.groupId,
      record: new RecordPosition(record.topic, record.partition, record.offset),
      origin: new RecordPosition(topic, partition, offset),
    };
  }

  #dueAt({ tier: number, delivery }: RetryDestination): number {
    const { binding, runtime } = this.parts;
    const tier = binding.retry.tiers[number - 1];
    return runtime.now() + (tier ? delayMsOf(tier, delivery) : 0);
  }
}

function identityOf(report: FailureReport) {
  const { record, groupId, tier, delivery, calls, totalAttempts } = report;
  const { originalTopic, originalPartition, originalOffset } = report;
  return {
    groupId,
    record: new RecordPosition(record.topic, record.partition, record.offset),
    origin: new RecordPosition(originalTopic, originalPartition, originalOffset),
    attempt: { call: calls, delivery, tier, total: totalAttempts },
  };
}

function exceptionOf({ description, ownFingerprint }: FailureReport): EventException {
  const { className, causeClassName, message, stack } = description;
  return {
    className,
    ...(causeClassName === undefined ? {} : { causeClassName }),
    ...(message === undefined ? {} : { message }),
    ...(stack === undefined ? {} : { stack }),
    fingerprint: ownFingerprint,
  };
}
