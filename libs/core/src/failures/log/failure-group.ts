import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { NextStep, RecordFailed } from '../../model/events/event-bus-events.js';
import { durationText, errorText, failureLine } from './failure-line.js';

export type FailureLevel = 'warn' | 'info' | 'debug';

export interface FailureGroupParts {
  readonly binding: string;
  /** What the group is called in its counts: the error, or `other errors`. */
  readonly label?: string;
  /** Level of failures that are not final. */
  readonly level: FailureLevel;
  /** Lines per minute for each kind of next step. */
  readonly linesPerMinute: number;
  readonly runtime: Pick<Runtime, 'setTimer' | 'monotonic'>;
  readonly logger: DriverLogger;
  /** Called when there was no failure for a minute. */
  readonly onEnd: () => void;
}

const MINUTE_MS = 60_000;

/**
 * Logs the failures of one binding that have the same error. Each minute the first ones are logged
 * in full, and the others are counted. After a minute without a failure, the end is logged.
 */
export class FailureGroup {
  readonly #label: string;
  readonly #startedAt: number;
  /** Lines of this minute, by what happens next, so that a retry does not hide a dead letter. */
  readonly #lines = new Map<NextStep['kind'], number>();
  #lastAt: number;
  #total = 0;
  #ofThisMinute = 0;
  #more = 0;
  #moreFinal = 0;
  #hasCounted = false;
  #timer: Timer;

  constructor(
    private readonly parts: FailureGroupParts,
    first: RecordFailed,
  ) {
    this.#label = parts.label ?? errorText(first);
    this.#startedAt = parts.runtime.monotonic();
    this.#lastAt = this.#startedAt;
    this.#timer = this.#startMinute();
  }

  add(event: RecordFailed): void {
    const { runtime, linesPerMinute } = this.parts;
    const { kind } = event.next;
    const lines = this.#lines.get(kind) ?? 0;
    this.#total++;
    this.#ofThisMinute++;
    this.#lastAt = runtime.monotonic();
    if (lines < linesPerMinute || NEVER_LEFT_OUT.has(kind)) {
      this.#lines.set(kind, lines + 1);
      return this.#logLine(event);
    }
    this.#more++;
    if (event.isFinal) this.#moreFinal++;
  }

  /** Logs what was counted, because the bus shuts down. */
  close(): void {
    this.#timer.cancel();
    this.#logCount();
  }

  #startMinute(): Timer {
    const end = (): void => this.#onMinute();
    return this.parts.runtime.setTimer(end, MINUTE_MS, { background: true });
  }

  #onMinute(): void {
    if (this.#ofThisMinute === 0) {
      if (this.#hasCounted) this.#logEnd();
      return this.parts.onEnd();
    }
    this.#logCount();
    this.#ofThisMinute = 0;
    this.#lines.clear();
    this.#timer = this.#startMinute();
  }

  #logLine(event: RecordFailed): void {
    const { message, context } = failureLine(event);
    this.parts.logger[event.isFinal ? 'error' : this.parts.level](message, context);
  }

  #logCount(): void {
    if (this.#more === 0) return;
    const { binding, level, logger } = this.parts;
    const more = this.#more;
    const final = this.#moreFinal;
    this.#more = 0;
    this.#moreFinal = 0;
    this.#hasCounted = true;
    const given = final === 0 ? '' : `, of them ${count(final)} given up`;
    logger[final > 0 ? 'error' : level](
      `… ${count(more)} more failures of binding '${binding}' in the last minute${given}: ${this.#label}`,
      { binding, more, final },
    );
  }

  #logEnd(): void {
    const { binding, level, logger } = this.parts;
    const lastedMs = this.#lastAt - this.#startedAt;
    logger[level](
      `No more failures of binding '${binding}' for a minute: ${this.#label}. There were ${count(this.#total)} within ${durationText(lastedMs)}.`,
      { binding, failures: this.#total, lastedMs: Math.round(lastedMs) },
    );
  }
}

/** Failures that need an operator for each record. A partition or a binding stops with each. */
const NEVER_LEFT_OUT: ReadonlySet<NextStep['kind']> = new Set([
  'wait-for-decision',
  'pause-binding',
]);

const count = (value: number): string => value.toLocaleString('en-US');
