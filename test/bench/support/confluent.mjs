import { clock } from './clock.mjs';
import { requireAll } from './fill-topic.mjs';

const AT_ONCE = 1_000;
let groups = 0;

/** Loads librdkafka's binding if it could be built; otherwise returns undefined. */
export async function loadConfluent() {
  try {
    const { default: binding } = await import('@confluentinc/kafka-javascript');
    return binding;
  } catch (error) {
    console.log(`@confluentinc/kafka-javascript is left out: ${error.message.split('\n')[0]}`);
    return undefined;
  }
}

/** Measures `consume(1000)` + JSON.parse, commits included. Returns records per second. */
export async function confluentRate({ KafkaConsumer }, brokers, topic, records) {
  const consumer = new KafkaConsumer(
    { 'bootstrap.servers': brokers.join(','), 'group.id': `${topic}-confluent-${++groups}` },
    { 'auto.offset.reset': 'earliest' },
  );
  await new Promise((resolve, reject) =>
    consumer.connect({}, (error) => (error ? reject(error) : resolve())),
  );
  consumer.subscribe([topic]);
  let seen = 0;
  let checksum = 0;
  let startedAt = 0;
  while (seen < records) {
    const messages = await consumed(consumer);
    // The consumer joins with its first call, so the clock starts with the first records, in its favour.
    startedAt ||= messages.length > 0 ? clock() : 0;
    for (const { value } of messages) checksum += JSON.parse(value.toString()).id;
    seen += messages.length;
  }
  const rate = records / ((clock() - startedAt) / 1_000);
  requireAll(checksum, records);
  await new Promise((resolve) => consumer.disconnect(resolve));
  return rate;
}

function consumed(consumer) {
  return new Promise((resolve, reject) =>
    consumer.consume(AT_ONCE, (error, messages) => (error ? reject(error) : resolve(messages))),
  );
}
