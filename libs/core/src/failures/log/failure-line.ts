import type { NextStep, RecordFailed } from '../../model/events/event-bus-events.js';

export interface FailureLine {
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
}

/** Words one failed delivery: which record of which binding, why, and what happens next. */
export function failureLine(event: RecordFailed): FailureLine {
  const { attempt, binding, cluster, exception, next, origin, record } = event;
  const { className, causeClassName, fingerprint, stack } = exception;
  const { topic, partition, offset } = record;
  return {
    message: `Record ${record.toString()} of binding '${binding}' failed: ${errorText(event).replace(/\.$/u, '')}. ${nextStepText(next, event.at)}`,
    context: {
      binding,
      cluster,
      topic,
      partition,
      offset,
      ...(attempt.tier > 0 && { origin: origin.toString() }),
      attempt,
      exceptionClass: className,
      ...(causeClassName !== undefined && { causeClass: causeClassName }),
      fingerprint,
      next: next.kind,
      ...(stack !== undefined && { stack }),
    },
  };
}

/** Returns the class of the error, and the first line of its message without control characters. */
export function errorText({
  exception: { className, message },
}: Pick<RecordFailed, 'exception'>): string {
  const [first = ''] = (message ?? '').split(/[\r\n\u2028\u2029]/u, 1);
  const line = first.replaceAll(/\p{Cc}/gu, ' ').slice(0, LONGEST_MESSAGE);
  return line === '' ? className : `${className}: ${line}`;
}

/** Limit for the message within a line. The stack below the line has all of it. */
const LONGEST_MESSAGE = 300;

function nextStepText(next: NextStep, at: number): string {
  switch (next.kind) {
    case 'call-again':
      return `Its handler is called again in ${durationText(next.inMs)}: call ${next.call} of ${next.of}.`;
    case 'redeliver':
      return `It stays in its place, and is delivered again ${redeliveryText(next.inMs)}.`;
    case 'retry':
      return `It goes to ${next.topic}, due ${new Date(next.dueAt).toISOString()} (in ${durationText(next.dueAt - at)}).`;
    case 'dead-letter':
      return `It goes to ${next.topic}: ${next.reason}, ${next.cause}.`;
    case 'discard':
      return 'Its @DltHandler has discarded it.';
    case 'wait-for-decision':
      return 'Its partition waits for a decision: call connector.decide().';
    case 'pause-binding':
      return 'It stays in its place, and its binding is paused: resume the binding once the cause is gone.';
  }
}

function redeliveryText(inMs: number | undefined): string {
  if (inMs === undefined) return 'when its partition is read again';
  return inMs === 0 ? 'at once' : `in ${durationText(inMs)}`;
}

/** Returns `200 ms`, `1.5 s` or `5 min`. */
export function durationText(milliseconds: number): string {
  const rounded = Math.round(milliseconds);
  if (rounded < 1_000) return `${rounded} ms`;
  if (rounded < 60_000) return `${Math.round(rounded / 100) / 10} s`;
  return `${Math.round(rounded / 6_000) / 10} min`;
}
