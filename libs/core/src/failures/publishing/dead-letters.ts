import { type DriverLogger, ownError } from '@nest-event-bus/broker';
import { within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { errorContext } from '../../errors/texts/error-context.js';
import type { PendingAlerts } from '../../model/states/pending-alerts.js';
import type { DeadLetterReason } from '../../model/outcomes/destination.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import type { DltVerdict } from '../../model/extension-points/handler-interfaces.js';
import type { DltPublisher } from './dlt-publisher.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';

/** A function of the application that receives dead letters. */
export interface DltListener {
  /** Name in messages: `AlertService.onDeadLetter`. */
  readonly origin: string;
  invoke(record: DltRecord): unknown;
}

export interface DeadLettersParts {
  readonly binding: Pick<ResolvedBinding, 'name' | 'dlt'>;
  readonly publisher: Pick<DltPublisher, 'publish' | 'describe'>;
  /** Called with strategy CUSTOM, before the write. */
  readonly handlers: readonly DltListener[];
  /** Called with strategy ALERT_AND_STORE, after the write. */
  readonly alerts: readonly DltListener[];
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Limit for remembered answers of handlers about records that could not be written yet. */
const MAX_ANSWERS = 1_000;

export type DeadLetterResult = 'stored' | 'discarded';

/** Limit for running alerts, so that a burst of dead letters does not fill the memory. */
const MAX_ALERTS = 100;

/** Writes dead letters to the dead-letter topic as `dlt.strategy` says. */
export class DeadLetters implements PendingAlerts {
  /**
   * Records that a handler wants to be stored, and that could not be written yet. Their handlers
   * are not called again.
   */
  readonly #mustBeStored = new Set<string>();
  readonly #runningAlerts = new Set<Promise<void>>();
  #skippedAlerts = 0;

  constructor(private readonly parts: DeadLettersParts) {}

  get count(): number {
    return this.#runningAlerts.size;
  }

  async whenEnded(): Promise<void> {
    while (this.#runningAlerts.size > 0) await Promise.all(this.#runningAlerts);
  }

  /**
   * Writes or discards a dead letter, and calls `onDecided` before the write. Rejects with
   * DltPublishException if the record could not be written.
   */
  async accept(
    report: FailureReport,
    reason: DeadLetterReason,
    signal: AbortSignal,
    onDecided?: (result: DeadLetterResult) => void,
  ): Promise<DeadLetterResult> {
    const { strategy } = this.parts.binding.dlt;
    const isDiscarded =
      strategy === DltStrategy.CUSTOM && (await this.#isDiscarded(report, reason));
    onDecided?.(isDiscarded ? 'discarded' : 'stored');
    if (isDiscarded) return 'discarded';
    const written = await this.parts.publisher.publish(report, reason, signal);
    this.#mustBeStored.delete(recordNameOf(report));
    if (strategy === DltStrategy.ALERT_AND_STORE)
      for (const alert of this.parts.alerts) this.#startAlert(alert, written);
    return 'stored';
  }

  /** Returns whether the record is discarded. Every handler has to answer 'discard'. */
  async #isDiscarded(report: FailureReport, reason: DeadLetterReason): Promise<boolean> {
    const name = recordNameOf(report);
    if (this.#mustBeStored.has(name)) return false;
    const record = this.parts.publisher.describe(report, reason);
    const verdicts = await Promise.all(
      this.parts.handlers.map((handler) => this.#ask(handler, record)),
    );
    const isDiscarded = verdicts.length > 0 && verdicts.every((verdict) => verdict === 'discard');
    if (!isDiscarded) this.#rememberMustBeStored(name);
    return isDiscarded;
  }

  /**
   * Remembers that a record must be stored. Removes the oldest answers beyond the limit, because
   * records of revoked partitions are never removed otherwise.
   */
  #rememberMustBeStored(name: string): void {
    this.#mustBeStored.add(name);
    const [oldest] = this.#mustBeStored;
    if (this.#mustBeStored.size > MAX_ANSWERS && oldest !== undefined)
      this.#mustBeStored.delete(oldest);
  }

  async #ask(handler: DltListener, record: DltRecord): Promise<DltVerdict> {
    try {
      return (await this.#bounded(handler, record)) === 'discard' ? 'discard' : 'store';
    } catch (error) {
      this.#logFailure('A dead-letter handler failed: its record is stored', handler, error);
      return 'store';
    }
  }

  /** Starts an alert without waiting for it, because the record is written already. */
  #startAlert(alert: DltListener, record: DltRecord): void {
    if (this.#runningAlerts.size >= MAX_ALERTS) {
      this.#skippedAlerts += 1;
      return;
    }
    const running: Promise<void> = this.#runAlert(alert, record).finally(() =>
      this.#onAlertEnded(running),
    );
    this.#runningAlerts.add(running);
  }

  async #runAlert(alert: DltListener, record: DltRecord): Promise<void> {
    try {
      await this.#bounded(alert, record);
    } catch (error) {
      this.#logFailure('An alert failed: its dead letter is stored all the same', alert, error);
    }
  }

  #onAlertEnded(ended: Promise<void>): void {
    this.#runningAlerts.delete(ended);
    if (this.#runningAlerts.size > 0 || this.#skippedAlerts === 0) return;
    this.parts.logger.error('Alerts were left out: too many were under way', {
      binding: this.parts.binding.name,
      leftOut: this.#skippedAlerts,
    });
    this.#skippedAlerts = 0;
  }

  /** Calls a function with a time limit. A function that never answers counts as failed. */
  #bounded({ origin, invoke }: DltListener, record: DltRecord): Promise<unknown> {
    const { runtime, binding } = this.parts;
    const { handlerTimeoutMs } = binding.dlt;
    const answer = (async () => invoke(record))();
    return within(runtime, handlerTimeoutMs, answer, () =>
      ownError(
        new Error(
          `${origin} did not answer within ${handlerTimeoutMs} ms. Let it end in time, or raise dlt.handlerTimeoutMs.`,
        ),
      ),
    );
  }

  #logFailure(message: string, { origin }: DltListener, error: unknown): void {
    this.parts.logger.error(message, {
      binding: this.parts.binding.name,
      origin,
      ...errorContext(error, this.parts.binding.dlt),
    });
  }
}

function recordNameOf({ record: { topic, partition, offset } }: FailureReport): string {
  return `${topic}-${partition}-${offset}`;
}
