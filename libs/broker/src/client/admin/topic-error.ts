import { UnknownTopicError, type BrokerError } from '../../port/errors.js';
import { errorOfCode } from '../../wire/index.js';

const UNKNOWN_TOPIC = 3;

interface TopicTrouble {
  readonly name: string;
  readonly code: number;
  /** The broker's own words. */
  readonly message?: string | null;
}

export function topicError({ name, code, message }: TopicTrouble, doing: string): BrokerError {
  return code === UNKNOWN_TOPIC
    ? new UnknownTopicError(name, undefined, { brokerCode: code })
    : errorOfCode(code, doing, message ?? '');
}
