// A run of `log-context`: sends the nanoseconds that a record takes in the pipeline. A process of its own, because
// Node 20 pays for asynchronous contexts in the whole process as soon as one was used.
import { AsyncLocalStorage } from 'node:async_hooks';
import { logContext } from '@nest-event-bus/core';
import { resolveOptions } from '@nest-event-bus/core/internals';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { realRuntime } from '@nest-event-bus/broker/runtime';

const { isOn, isAsync, hasOther } = JSON.parse(process.argv[2]);
const RECORDS = 300_000;
const ROUNDS = 5;

// The pipeline is no entry point, and the way to it through Nest and a broker would add more noise than is measured.
const pipeline = '../../../libs/core/dist/esm/pipeline';
const { createRecordPipeline } = await import(`${pipeline}/record-pipeline.js`);
const { jsonDeserializer } = await import(`${pipeline}/decoding/plain-formats.js`);
const { recordHandler } =
  await import('../../../libs/core/dist/esm/discovery/calling/handler-functions.js');

const driver = memory({ broker: new MemoryBroker() });
const { bindings } = resolveOptions({
  driver,
  bindings: { bench: { topic: 'bench', groupId: 'bench' } },
});
if (isOn) logContext.reader();
// Stands for a tracing library, or a database library with transactions of its own.
const other = hasOther ? new AsyncLocalStorage() : undefined;
let seen = 0;
const handle = () => void seen++;
const nothing = () => undefined;
const processor = createRecordPipeline({
  binding: bindings[0],
  handlers: [recordHandler('bench', isAsync ? async () => handle() : handle)],
  deserializer: jsonDeserializer,
  tier: 0,
  // Nobody has called reader() if the context is off.
  logContext,
  problems: { report: nothing },
  runtime: realRuntime,
  logger: { debug: nothing, info: nothing, warn: nothing, error: nothing },
});
const value = Buffer.from(
  JSON.stringify({ id: 1, customer: 'c-1', amount: 10, note: 'x'.repeat(140) }),
);
const history = { failures: 0, calls: 0, redeliveries: 0 };

other?.enterWith('in use');

let least = Infinity;
for (let round = 0; round <= ROUNDS; round++) {
  const startedAt = performance.now();
  for (let offset = 0; offset < RECORDS; offset++) {
    const outcome = processor.process(deliveryOf(offset));
    if (isAsync) await outcome;
  }
  const each = ((performance.now() - startedAt) * 1e6) / RECORDS;
  // The first round warms up.
  if (round > 0) least = Math.min(least, each);
}
if (seen !== RECORDS * (ROUNDS + 1)) throw new Error(`${seen} records were handled.`);
process.send(least);
process.disconnect();

function deliveryOf(offset) {
  return {
    record: {
      topic: 'bench',
      partition: 0,
      offset,
      timestamp: 0,
      leaderEpoch: 0,
      key: null,
      value,
      headers: [],
      sizeInBytes: value.length,
    },
    history,
    receivedAt: 0,
    readySince: 0,
    sessionIndex: 0,
    assignment: undefined,
    onHandlerReturned: nothing,
    isCancelled: false,
  };
}
