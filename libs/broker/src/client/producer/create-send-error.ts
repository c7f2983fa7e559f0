import { errorSentenceOf } from '../../port/error-text.js';
import { BrokerError, SendError } from '../../port/errors.js';
import type { RecordOutcome } from '../../port/record.js';

/**
 * Creates the error of a `send` that did not write all its records. The message says how many
 * records failed, why, and what to do.
 */
export function createSendError(outcomes: readonly RecordOutcome[]): SendError {
  const failures = outcomes.flatMap((outcome) => (outcome.state === 'written' ? [] : [outcome]));
  const unknown = failures.filter(({ state }) => state === 'unknown').length;
  const [first] = failures;
  const retriable = failures.every(({ error }) => isRetriable(error));
  const brokerCode = first?.error instanceof BrokerError ? first.error.brokerCode : undefined;
  const message = [
    `${countsOf(outcomes.length, failures.length, unknown)}.`,
    first === undefined ? '' : causesOf(failures.map(({ error }) => errorSentenceOf(error))),
    advice(unknown, retriable),
  ];
  return new SendError(outcomes, message.filter(Boolean).join(' '), retriable, {
    cause: first?.error,
    ...(brokerCode === undefined ? {} : { brokerCode }),
  });
}

function isRetriable(error: Error): boolean {
  return error instanceof BrokerError && error.retriable;
}

function countsOf(all: number, failed: number, unknown: number): string {
  const notWritten = failed - unknown;
  const parts = [
    notWritten > 0 ? `${notWritten} not written` : '',
    unknown > 0
      ? `${unknown} with an unknown result (a request was sent, and its outcome is not known)`
      : '',
    all > failed ? `${all - failed} written` : '',
  ];
  return `Of ${all} ${all === 1 ? 'record' : 'records'}: ${parts.filter(Boolean).join(', ')}`;
}

function causesOf(messages: readonly string[]): string {
  const [first = '', ...others] = new Set(messages);
  return others.length === 0
    ? first
    : `${first} (and ${others.length} more causes, see the outcomes)`;
}

function advice(unknown: number, retriable: boolean): string {
  if (unknown > 0)
    return 'Send again only if the consumers tolerate duplicates: records with an unknown result may be in the log.';
  return retriable
    ? 'Sending what was not written again may succeed.'
    : 'Sending the same again will fail again: see the outcomes for what to change.';
}
