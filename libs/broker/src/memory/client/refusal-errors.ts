import { errorReasonOf } from '../../port/error-text.js';
import {
  AuthorizationError,
  BrokerError,
  InconsistentGroupProtocolError,
  RecordTooLargeError,
  RefusedError,
  StaticMemberFencedError,
  StaticMemberInUseError,
  UnknownTopicError,
} from '../../port/errors.js';
import { Refusal, type RefusalName } from '../broker/faults/refusal.js';

const ADVICE: Partial<Readonly<Record<RefusalName, string>>> = {
  INVALID_SESSION_TIMEOUT:
    'Choose a sessionTimeoutMs within group.min.session.timeout.ms and group.max.session.timeout.ms of the broker.',
  NON_EMPTY_GROUP: 'Stop the members of the group first.',
  GROUP_ID_NOT_FOUND: 'Check the group id.',
  GROUP_SUBSCRIBED_TO_TOPIC: 'Stop the members that read the topic first.',
  INVALID_PARTITIONS: 'Ask for more partitions than the topic has.',
  INVALID_REPLICATION_FACTOR: 'Ask for at most as many replicas as there are brokers.',
  INVALID_CONFIG: 'Check the name and the value of the entry.',
  INVALID_TOPIC: 'Use up to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-".',
  INVALID_TIMESTAMP: 'Correct the timestamp, or raise message.timestamp.after.max.ms of the topic.',
  INVALID_TRANSACTION_TIMEOUT:
    'Choose a transactionTimeoutMs within transaction.max.timeout.ms of the broker.',
  OFFSET_OUT_OF_RANGE: 'Ask for an offset within the low and the high watermark.',
};

/** Returns the error of the port for a refusal; other port errors are returned unchanged. */
export function toBrokerError(error: unknown, topic?: string): BrokerError {
  if (error instanceof BrokerError) return error;
  if (!(error instanceof Refusal))
    return new RefusedError(`The request failed unexpectedly: ${errorReasonOf(error)}`, false, {
      cause: error,
    });
  const options = { cause: error, brokerCode: error.brokerCode };
  switch (error.reason) {
    case 'UNKNOWN_TOPIC_OR_PARTITION':
      if (topic !== undefined) return new UnknownTopicError(topic, undefined, options);
      break;
    case 'TOPIC_AUTHORIZATION_FAILED':
    case 'GROUP_AUTHORIZATION_FAILED':
    case 'CLUSTER_AUTHORIZATION_FAILED':
      return new AuthorizationError(
        `${error.message}. Grant the permission, or use other credentials.`,
        options,
      );
    case 'INCONSISTENT_GROUP_PROTOCOL':
      return new InconsistentGroupProtocolError(
        `${error.message}. Give all members at least one assignor in common, or use another group id.`,
        options,
      );
    case 'FENCED_INSTANCE_ID':
      return new StaticMemberFencedError(
        `${error.message}. Give each session a groupInstanceId of its own, or find out why the earlier one is still running.`,
        options,
      );
    case 'UNRELEASED_INSTANCE_ID':
      return new StaticMemberInUseError(
        `${error.message}. This session waits until the other one has closed or its session timeout is over. Give each session a groupInstanceId of its own.`,
        options,
      );
    case 'MESSAGE_TOO_LARGE':
      return new RecordTooLargeError(
        `${error.message}. Send a smaller record, or raise the limit.`,
        options,
      );
    default:
  }
  const advice = ADVICE[error.reason];
  return new RefusedError(
    `The broker refused: ${error.message}.${advice ? ` ${advice}` : ''}`,
    error.retriable,
    options,
  );
}

/** Returns whether a retry can help. Unknown errors are not retriable. */
export function isRetriable(error: unknown): boolean {
  return (error instanceof BrokerError || error instanceof Refusal) && error.retriable;
}
