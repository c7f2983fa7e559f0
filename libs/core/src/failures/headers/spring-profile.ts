import { headersOf, type HeaderProfile } from './header-profile.js';

/** Names that Spring for Apache Kafka uses in a dead letter. */
export const SPRING_HEADERS = Object.freeze({
  exceptionFqcn: 'kafka_dlt-exception-fqcn',
  exceptionCauseFqcn: 'kafka_dlt-exception-cause-fqcn',
  exceptionMessage: 'kafka_dlt-exception-message',
  exceptionStacktrace: 'kafka_dlt-exception-stacktrace',
  originalTopic: 'kafka_dlt-original-topic',
  originalPartition: 'kafka_dlt-original-partition',
  originalOffset: 'kafka_dlt-original-offset',
  originalTimestamp: 'kafka_dlt-original-timestamp',
  originalTimestampType: 'kafka_dlt-original-timestamp-type',
  originalConsumerGroup: 'kafka_dlt-original-consumer-group',
});

/**
 * Prefix of all Spring headers. All headers that Spring wrote earlier are replaced, although this
 * profile writes fewer.
 */
const PREFIX = 'kafka_dlt-';

/**
 * Profile in Spring's encodings: four bytes for a partition, eight for an offset or a time,
 * big-endian.
 */
export const springProfile = Object.freeze<HeaderProfile>({
  name: 'spring',
  owns: (name) => name.startsWith(PREFIX),
  write: ({ description, ...report }) =>
    headersOf({
      [SPRING_HEADERS.exceptionFqcn]: description.className,
      [SPRING_HEADERS.exceptionCauseFqcn]: description.causeClassName,
      [SPRING_HEADERS.exceptionMessage]: description.message,
      [SPRING_HEADERS.exceptionStacktrace]: description.stack,
      [SPRING_HEADERS.originalTopic]: report.originalTopic,
      [SPRING_HEADERS.originalPartition]: int(report.originalPartition),
      [SPRING_HEADERS.originalOffset]: long(report.originalOffset),
      [SPRING_HEADERS.originalTimestamp]: long(BigInt(report.originalTimestamp)),
      [SPRING_HEADERS.originalTimestampType]: report.originalTimestampType,
      [SPRING_HEADERS.originalConsumerGroup]: report.groupId,
    }),
});

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
