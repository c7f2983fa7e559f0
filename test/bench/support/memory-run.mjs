import { spawn } from 'node:child_process';

const SEND_AT_ONCE = 10_000;
const MEBIBYTE = 1024 * 1024;
/** A held record pins at most the chunk into which it was copied. */
const CHUNK_BYTES = 16 * 1024;
/** Difference between two collections of an unchanged heap. */
const SLACK_BYTES = MEBIBYTE;

/**
 * @typedef {import('./memory-consumer.mjs').MemoryOrder} MemoryOrder
 * @typedef {import('./memory-consumer.mjs').MemoryFigures} MemoryFigures
 */

/**
 * Writes so many records of 200 bytes, spread evenly.
 *
 * @param {import('@nest-event-bus/broker').BrokerDriver} driver
 * @param {{ topic: string, partitions: number, records: number }} order
 */
export async function fillTopic(driver, { topic, partitions, records }) {
  await driver.admin().createTopics([{ name: topic, partitions }]);
  const producer = driver.producer({ batchBytes: 256 * 1024 });
  const value = Buffer.alloc(200, 'x');
  for (let from = 0; from < records; from += SEND_AT_ONCE) {
    const count = Math.min(SEND_AT_ONCE, records - from);
    await producer.send(
      Array.from({ length: count }, (_, index) => ({
        topic,
        partition: (from + index) % partitions,
        value,
      })),
    );
  }
  await producer.close();
}

/**
 * Runs the consumer in a process of its own.
 *
 * @param {string} program
 * @param {MemoryOrder} order
 * @param {readonly string[]} [nodeArguments]
 * @returns {Promise<MemoryFigures>}
 */
export function measureMemory(program, order, nodeArguments = []) {
  const child = spawn(
    process.execPath,
    ['--expose-gc', ...nodeArguments, program, JSON.stringify(order)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(said));
      else reject(new Error(`The measured consumer ended with ${code}.`));
    });
  });
}

/**
 * The promise: what is in use grows by the budget and a fifth of it at most. Of a small budget a fifth is less than
 * the held records may pin, so that these are allowed for on top.
 *
 * @param {MemoryFigures} figures
 * @param {{ budgetBytes: number, held: number }} bounds
 */
export function judgeMemory({ baseline, peakInUse, held }, bounds) {
  const pinned = bounds.held * CHUNK_BYTES;
  const fifth = bounds.budgetBytes / 5;
  return {
    grown: peakInUse - baseline,
    mayGrow: bounds.budgetBytes + fifth + (pinned < fifth ? 0 : pinned),
    held,
    mayHold: pinned + SLACK_BYTES,
  };
}

/** @param {number} bytes */
export function mebibytes(bytes) {
  return `${(bytes / MEBIBYTE).toFixed(1)} MiB`;
}
