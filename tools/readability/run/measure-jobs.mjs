import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallCounter } from './call-counter.mjs';
import { OutsideClient } from './outside-client.mjs';

/**
 * @typedef {import('./call-counter.mjs').Calls} Calls
 * @typedef {{ functions: number, calls: number, files: number }} Sum
 * @typedef {{ name: import('../arguments.mjs').Job, job: string, total: Sum, packages: Record<string, Sum>, withIdle: Sum, functions: import('./call-counter.mjs').CountedFunction[] }} JobFigures  `withIdle` counts all that ran; the rest only what does not run in an idle time.
 */

const IDLE_MS = 2_500;
/**
 * Number of idle periods. Together they last as long as the slowest timer (metadata, 10 s), which
 * otherwise could count as work of a job.
 */
const IDLE_TIMES = 4;
const WARM_UP_RECORDS = 5;
/**
 * Time for a response to arrive: the broker has stored a commit a moment before the measured
 * process has read the response.
 */
const ANSWER_MS = 200;

/**
 * Counts the functions and files of this repository that three jobs need: one record from the
 * socket to its stored commit, one failing record up to the dead-letter topic, and the shutdown.
 * Calls that also occur in an idle period are subtracted. The failing record is the first one, so
 * its figures include the connection of the producer.
 * @param {string} root of the repository
 * @returns {Promise<JobFigures[]>}
 */
export async function measureJobs(root) {
  build(root);
  const counter = new CallCounter();
  await counter.start();
  const { KafkaServer, unique } = await import('@nest-event-bus/testing');
  const kafka = await KafkaServer.start();
  const outside = new OutsideClient(kafka.brokers);
  try {
    return await measureOn(kafka.brokers, outside, counter, unique('readability'));
  } finally {
    outside.close();
    counter.stop();
    await kafka.stop();
  }
}

/** @param {string} root */
function build(root) {
  const { status } = spawnSync(process.execPath, [join(root, 'tools/build.mjs')], {
    stdio: 'inherit',
  });
  if (status !== 0)
    throw new Error('The packages cannot be built; --static leaves out what needs them.');
}

/**
 * @param {readonly string[]} brokers
 * @param {OutsideClient} outside
 * @param {CallCounter} counter
 * @param {string} topic
 */
async function measureOn(brokers, outside, counter, topic) {
  const { startApplication, SUCCEEDING, FAILING } = await import('./measured-application.mjs');
  const [groupId, deadLetters] = [`${topic}-group`, `${topic}.DLT`];
  for (const name of [topic, `${topic}.retry-1`, deadLetters]) await outside.createTopic(name);
  const application = await startApplication(brokers, { topic, groupId });
  /** @param {number} offset */
  const succeed = async (offset) => {
    await outside.send(topic, SUCCEEDING);
    await outside.whenCommitted(groupId, topic, offset + 1);
    await sleep(ANSWER_MS);
  };
  const fail = async () => {
    await outside.send(topic, FAILING);
    await outside.whenWritten(deadLetters, 1);
    await sleep(ANSWER_MS);
  };
  const idle = () => sleep(IDLE_MS);
  /** @param {() => Promise<void>} job */
  const during = async (job) => {
    await counter.take();
    await job();
    return counter.take();
  };

  try {
    for (let offset = 0; offset < WARM_UP_RECORDS; offset++) await succeed(offset);
    await idle();
    const idles = [];
    for (let time = 0; time < IDLE_TIMES; time++) idles.push(await during(idle));
    const record = await during(() => succeed(WARM_UP_RECORDS));
    const failure = await during(fail);
    await idle();
    idles.push(await during(idle));
    const shutdown = await during(() => application.close());
    return [
      figuresOf('record', 'one record, from the socket to its stored commit', record, idles),
      figuresOf(
        'failure',
        'one failing record, over one retry topic to the dead-letter topic',
        failure,
        idles,
      ),
      figuresOf('shutdown', 'shutdown of one binding with one retry topic', shutdown, idles),
    ];
  } catch (error) {
    // Closes the application, because its consumers would keep the process alive.
    await application.close();
    throw error;
  }
}

/**
 * @param {import('../arguments.mjs').Job} name
 * @param {string} job
 * @param {Calls} calls
 * @param {readonly Calls[]} idles
 * @returns {JobFigures}
 */
function figuresOf(name, job, calls, idles) {
  const own = [...calls].filter(([id]) => !idles.some((idle) => idle.has(id)));
  const counted = own.map(([, each]) => each);
  const owners = [...new Set(counted.map(({ owner }) => owner))].sort();
  return {
    name,
    job,
    total: sumOf(counted),
    packages: Object.fromEntries(
      owners.map((each) => [each, sumOf(counted.filter(({ owner }) => owner === each))]),
    ),
    withIdle: sumOf([...calls.values()]),
    functions: counted,
  };
}

/**
 * @param {readonly import('./call-counter.mjs').CountedFunction[]} counted
 * @returns {Sum}
 */
const sumOf = (counted) => ({
  functions: counted.length,
  calls: counted.reduce((sum, { calls }) => sum + calls, 0),
  files: new Set(counted.map(({ file }) => file)).size,
});
