// Writes records and reads offsets in a process of its own, so that this work does not count as
// work of the measured process. outside-client.mjs starts it and sends it one command at a time.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';

/** @typedef {{ id: number, name: string, args: string[] }} Command */

const driver = kafkajs({ brokers: process.argv.slice(2) });
const [admin, producer] = [driver.admin(), driver.producer()];

/** @type {Record<string, (...args: string[]) => Promise<unknown>>} */
const commands = {
  createTopic: (name) => admin.createTopics([{ name: name ?? '', partitions: 1 }]),
  send: (topic, value) => producer.send([{ topic: topic ?? '', value: Buffer.from(value ?? '') }]),
  /** Returns how many records the topic has. */
  count: async (topic) => (await admin.watermarks(topic ?? ''))[0]?.high ?? 0,
  /** Returns the committed offset of the group in the only partition of the topic. */
  committed: async (groupId, topic) => {
    const offsets = await admin.groupOffsets(groupId ?? '', [topic ?? '']);
    return offsets[0]?.offset ?? 0;
  },
};

process.on('message', (/** @type {Command} */ { id, name, args }) => {
  void answer(id, name, args);
});
process.on('disconnect', () => void driver.close());

/**
 * @param {number} id
 * @param {string} name
 * @param {string[]} args
 */
async function answer(id, name, args) {
  try {
    const result = await commands[name]?.(...args);
    process.send?.({ id, result: typeof result === 'number' ? result : undefined });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
}
