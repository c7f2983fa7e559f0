// Reads a topic more slowly than possible and holds some of the records. Prints the cost in memory on one
// line. Requires --expose-gc; its argument is a MemoryOrder as JSON.
import { kafkajs, PrefetchBudget } from '@nest-event-bus/broker/kafkajs';

/**
 * @typedef {object} MemoryOrder
 * @property {readonly string[]} brokers
 * @property {string} topic
 * @property {number} records how many flow by
 * @property {number} held how many are kept, each from another poll
 * @property {number} lastsMs over how long the flow is spread
 * @property {number} [budgetBytes] default: the process's own budget
 *
 * @typedef {object} MemoryFigures all in bytes of heap and external memory, of which array buffers are a part
 * @property {number} baseline after one read of the topic's beginning, before the flow
 * @property {number} peakInUse the most that was in use during the flow, garbage not counted
 * @property {number} peakWithGarbage the most that was taken during the flow
 * @property {number} held what the held records keep from being freed, after the flow
 * @property {number} mostPrefetched what the budget itself counted at most; -1 for the process's own
 * @property {readonly string[]} leakWarnings of Node itself
 * @property {number} samples
 * @property {number} records
 */

const SAMPLE_MS = 100;
const RECORDS_AT_ONCE = 500;
const WARM_UP_RECORDS = 20_000;
let groups = 0;

/** @type {MemoryOrder} */
const order = JSON.parse(process.argv[2] ?? '');
const budget = order.budgetBytes === undefined ? undefined : new PrefetchBudget(order.budgetBytes);
const driver = kafkajs({
  brokers: order.brokers,
  ...(budget ? { prefetchBudget: budget } : {}),
});

/** @type {string[]} */
const leakWarnings = [];
process.on('warning', ({ name, message }) => {
  if (name === 'MaxListenersExceededWarning') leakWarnings.push(message);
});

await consume(WARM_UP_RECORDS, 0, 0);
const baseline = inUse();
let peakInUse = 0;
let peakWithGarbage = 0;
let mostPrefetched = -1;
let samples = 0;
const timer = setInterval(sample, SAMPLE_MS);
/** @type {unknown[]} */
let held = await consume(order.records, order.held, order.lastsMs);
clearInterval(timer);
const withHeld = await inUseAtRest();
const heldCount = held.length;
held = [];
/** @type {MemoryFigures} */
const figures = {
  baseline,
  peakInUse,
  peakWithGarbage,
  mostPrefetched,
  held: withHeld - (await inUseAtRest()),
  leakWarnings,
  samples,
  records: order.records,
};
if (heldCount !== order.held)
  throw new Error(`${heldCount} records were held instead of ${order.held}.`);
process.stdout.write(`${JSON.stringify(figures)}\n`);
await driver.close();

function sample() {
  samples++;
  mostPrefetched = Math.max(mostPrefetched, budget?.usedBytes ?? -1);
  peakWithGarbage = Math.max(peakWithGarbage, taken());
  peakInUse = Math.max(peakInUse, inUse());
}

/**
 * @param {number} count
 * @param {number} keep
 * @param {number} lastsMs
 */
async function consume(count, keep, lastsMs) {
  const session = driver.consumer({
    groupId: `${order.topic}-${process.pid}-${++groups}`,
    topics: [order.topic],
  });
  await session.start({ onAssigned() {}, onRevoked() {}, onLost() {} });
  const startedAt = performance.now();
  const kept = [];
  let seen = 0;
  let next = 0;
  while (seen < count) {
    const records = await session.poll(Math.min(RECORDS_AT_ONCE, count - seen));
    seen += records.length;
    if (kept.length < keep && seen >= next) {
      kept.push(records[0]);
      next += count / keep / 2;
    }
    await pause((seen / count) * lastsMs - (performance.now() - startedAt));
  }
  await session.close();
  return kept;
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return milliseconds > 1 ? new Promise((resolve) => setTimeout(resolve, milliseconds)) : undefined;
}

/** Waits one turn, so that no running frame refers to garbage any more. */
async function inUseAtRest() {
  await pause(SAMPLE_MS);
  return inUse();
}

/** `external` contains the array buffers. */
function taken() {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The first collection finds unreferenced buffers, the second one frees them. */
function inUse() {
  const { gc } = globalThis;
  if (!gc) throw new Error('Run this with --expose-gc.');
  gc();
  gc();
  return taken();
}
