import { compareRates } from '../support/compare.mjs';
import { headersOf, orderJson } from '../support/payloads.mjs';

const PARTITIONS = 3;
const BATCH = 1_000;

/** Compares our producer with kafkajs's producer: the same records, acknowledged by all replicas. */
export async function sendBench({ driver, admin, raw, table }) {
  const topic = 'bench-send';
  await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
  const headers = headersOf(4);
  const values = Array.from({ length: BATCH }, (_, index) => orderJson(index));
  const ourRecords = values.map((value, index) => ({ topic, key: `key-${index}`, value, headers }));
  const theirHeaders = Object.fromEntries(headers.map(({ key, value }) => [key, value]));
  const theirMessages = values.map((value, index) => ({
    key: `key-${index}`,
    value,
    headers: theirHeaders,
  }));
  const ours = driver.producer();
  const theirs = raw.producer();
  await theirs.connect();

  const cases = [
    ['send 1,000 records, one call at a time', '>= 4', 60, 1],
    ['send 1,000 records, five calls in flight', '>= 7', 100, 5],
  ];
  for (const [what, goal, calls, inFlight] of cases) {
    const result = await compareRates(
      { name: 'send', run: () => rate(calls, inFlight, () => ours.send(ourRecords), BATCH) },
      {
        name: 'kafkajs send',
        run: () =>
          rate(calls, inFlight, () => theirs.send({ topic, messages: theirMessages }), BATCH),
      },
      { rounds: 6 },
    );
    table.add(what, result, { goal, unit: 'records/s' });
  }
  let next = 0;
  const singles = await compareRates(
    {
      name: 'send',
      run: () => rate(4_000, 1_000, () => ours.send([ourRecords[next++ % BATCH]]), 1),
    },
    {
      name: 'kafkajs send',
      run: () =>
        rate(
          4_000,
          1_000,
          () => theirs.send({ topic, messages: [theirMessages[next++ % BATCH]] }),
          1,
        ),
    },
  );
  table.add('send single records, 1,000 calls in flight', singles, {
    goal: '>= 2',
    unit: 'records/s',
  });
  await ours.close();
  await theirs.disconnect();
}

async function rate(calls, inFlight, send, perCall) {
  const startedAt = performance.now();
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await send();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (calls * perCall) / ((performance.now() - startedAt) / 1_000);
}
