import type { BrokerRecord } from '@nest-event-bus/broker';
import { EventBusException } from '../../errors/event-bus-exception.js';
import { DeserializationException } from '../../errors/handler-errors.js';
import { UnreadableValueError } from '../decoding/unreadable-value-error.js';
import type { Prepared } from '../pipeline-step.js';
import { toError } from '../to-error.js';

const OPTIONS = { key: 'keyDeserializer', value: 'deserializer' } as const;

/**
 * Returns a function for errors of a deserializer. It throws if the part cannot be decoded. If the
 * error says that another attempt can help, it returns a failure that redelivers the record.
 */
export function unreadablePart(
  part: 'key' | 'value',
  binding: string,
  format: string,
): (record: BrokerRecord, thrown: unknown) => Prepared {
  const exceptionOf = ({ topic, partition, offset, [part]: bytes }: BrokerRecord, cause: Error) => {
    const reason = cause instanceof UnreadableValueError ? cause.message : undefined;
    const why = reason === undefined ? '' : `: ${reason}`;
    return new DeserializationException(
      `The ${part} of ${topic}-${partition}-${offset} (${bytes?.length} bytes) is not the ${format} that binding '${binding}' expects${why}. Look at what its producer writes, or give the binding another ${OPTIONS[part]}.`,
      { cause, part, format, reason },
    );
  };
  return (record, thrown) => {
    const cause = toError(thrown);
    if (cause instanceof EventBusException && cause.retriable)
      return { kind: 'failed', reason: 'redeliver', error: cause, attempts: 0 };
    throw exceptionOf(record, cause);
  };
}
