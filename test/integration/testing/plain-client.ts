import { eventually, unique } from '@nest-event-bus/testing';
import { Kafka, logLevel } from 'kafkajs';

/**
 * Creates the plain client of kafkajs with short timeouts, because these suites test properties
 * that must hold for any client.
 */
export function plainClient(brokers: readonly string[]): Kafka {
  return new Kafka({
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 2_000,
    requestTimeout: 3_000,
    retry: { retries: 20, initialRetryTime: 100, maxRetryTime: 500 },
  });
}

export async function createTopic(client: Kafka, prefix = 'orders'): Promise<string> {
  const topic = unique(prefix);
  const admin = client.admin();
  await admin.connect();
  try {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
    return topic;
  } finally {
    await admin.disconnect();
  }
}

export async function write(client: Kafka, topic: string, value: string): Promise<void> {
  const producer = client.producer();
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: [{ key: 'k', value }] });
  } finally {
    await producer.disconnect();
  }
}

/** Reads from the beginning until this many values have arrived. */
export async function readAll(client: Kafka, topic: string, count: number): Promise<string[]> {
  const seen: string[] = [];
  const consumer = client.consumer({ groupId: unique('reader') });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message }) => void seen.push(String(message.value)),
    });
    await eventually(() => seen.length >= count, {
      description: `${count} records, not ${seen.length}`,
      timeoutMs: 60_000,
    });
    return seen;
  } finally {
    await consumer.disconnect();
  }
}
