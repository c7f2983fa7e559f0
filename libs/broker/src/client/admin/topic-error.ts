import { UnknownTopicError, type BrokerError } from '../../port/errors.js';
import { errorOfCode } from '../../wire/index.js';

const UNKNOWN_TOPIC = 3;

interface TopicFailure {
  readonly name: string;
  readonly code: number;
  /** The error message of the broker, if it sent one. */
  readonly message?: string | null;
}

export function topicError({ name, code, message }: TopicFailure, doing: string): BrokerError {
  return code === UNKNOWN_TOPIC
    ? new UnknownTopicError(name, undefined, { brokerCode: code })
    : errorOfCode(code, doing, message ?? '');
}
