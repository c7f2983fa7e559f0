import { startBus } from './bus.mjs';
import { clock } from './clock.mjs';
import { requireAll } from './fill-topic.mjs';

const COMMIT_TIMEOUT_MS = 10_000;
let groups = 0;

/**
 * Records per second of a binding, from its first fetch to its last handler. Throws unless all records are
 * committed. `observe` receives the measured work as a function and calls it.
 */
export async function busRate({
  admin,
  records,
  topic,
  isAsync = false,
  each,
  failEvery = Infinity,
  act,
  observe = (read) => read(),
  ...binding
}) {
  const groupId = `${topic}-bus-${++groups}`;
  let seen = 0;
  let checksum = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const isBad = ({ id }) => id % failEvery === failEvery - 1;
  const bad = sumOfBad(records, failEvery);
  const note = ({ id }) => {
    checksum += id;
    if (++seen === records - bad.count) finish(clock());
  };
  const handle = handlerOf({ note, each, isAsync, isBad, act, isBatch: binding.isBatch });
  const bus = await startBus({ topic, groupId, handle, ...binding });
  const read = async () => {
    const startedAt = clock();
    await bus.go();
    return records / (((await finished) - startedAt) / 1_000);
  };
  const rate = await observe(read);
  requireAll(checksum + bad.sum, records);
  // The last bad records may be delivered again after the last good one.
  if (bad.count > 0) await untilCommitted(admin, groupId, records);
  await bus.close();
  await requireCommitted(admin, groupId, records);
  return rate;
}

function handlerOf({ note, each, isAsync, isBad, act, isBatch }) {
  if (each)
    return async (record, context) => {
      await each(record, context);
      note(record.value);
    };
  if (isBatch && act) return async (records) => act(records, isBad, note);
  if (isBatch)
    return async (records) => {
      for (const { value } of records) note(value);
    };
  const handle = ({ value }) => {
    if (isBad(value)) throw new Error('bad');
    note(value);
  };
  // Typical handlers are asynchronous, because they wait for something.
  return isAsync ? async (record) => handle(record) : handle;
}

/** The last record of each `failEvery` is bad. */
function sumOfBad(records, failEvery) {
  let [count, sum] = [0, 0];
  for (let id = failEvery - 1; id < records; id += failEvery) {
    count++;
    sum += id;
  }
  return { count, sum };
}

async function untilCommitted(admin, groupId, records) {
  const deadline = performance.now() + COMMIT_TIMEOUT_MS;
  while ((await committedOf(admin, groupId)) < records && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

async function committedOf(admin, groupId) {
  const offsets = await admin.groupOffsets(groupId);
  return offsets.reduce((sum, { offset }) => sum + offset, 0);
}

async function requireCommitted(admin, groupId, records) {
  const committed = await committedOf(admin, groupId);
  if (committed !== records) throw new Error(`${committed} of ${records} records are committed.`);
}
