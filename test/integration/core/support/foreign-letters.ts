import type { OutgoingRecord } from '@nest-event-bus/broker';

export interface ForeignLetter {
  readonly deadLetterTopic: string;
  readonly topic: string;
  readonly groupId: string;
  readonly value: string;
  readonly exceptionClass: string;
  /** The line of the application's frame, which differs between versions. */
  readonly line: number;
}

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

const withHeaders = (
  { deadLetterTopic, value }: ForeignLetter,
  headers: Readonly<Record<string, string | Buffer>>,
): OutgoingRecord => ({
  ...{ topic: deadLetterTopic, partition: 0, key: `order-${value}`, value },
  headers: Object.entries(headers).map(([key, given]) => ({ key, value: given })),
});

/** A dead letter as the DeadLetterPublishingRecoverer of Spring for Apache Kafka writes it. */
export const springLetter = (letter: ForeignLetter): OutgoingRecord =>
  withHeaders(letter, {
    tenant: 'acme',
    'kafka_dlt-original-topic': letter.topic,
    'kafka_dlt-original-partition': int(0),
    'kafka_dlt-original-offset': long(4_711n + BigInt(letter.value)),
    'kafka_dlt-original-timestamp': long(1_700_000_000_000n),
    'kafka_dlt-original-timestamp-type': 'CreateTime',
    'kafka_dlt-original-consumer-group': letter.groupId,
    'kafka_dlt-exception-fqcn':
      'org.springframework.kafka.listener.ListenerExecutionFailedException',
    'kafka_dlt-exception-cause-fqcn': letter.exceptionClass,
    'kafka_dlt-exception-message': `Listener failed for order ${letter.value}`,
    'kafka_dlt-exception-stacktrace': [
      `org.springframework.kafka.listener.ListenerExecutionFailedException: order ${letter.value}`,
      '\tat org.springframework.kafka.listener.KafkaMessageListenerContainer.invoke(KafkaMessageListenerContainer.java:2873)',
      `\tat com.shop.orders.OrderListener.onOrder(OrderListener.java:${letter.line})`,
      '\tat java.base/java.lang.Thread.run(Thread.java:1583)',
    ].join('\n'),
  });

/** A dead letter of a service that writes the plain headers only. */
export const plainLetter = (letter: ForeignLetter): OutgoingRecord =>
  withHeaders(letter, {
    tenant: 'acme',
    'original-topic': letter.topic,
    'exception-class': letter.exceptionClass,
    'exception-message': `order ${letter.value} failed`,
    'failure-timestamp': '2026-01-02T03:04:05.000Z',
    'retry-count': '3',
  });
