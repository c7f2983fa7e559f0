import { EventBusTelemetryModule } from '@nest-event-bus/core/opentelemetry';
import { clock } from '../../support/clock.mjs';
import { median } from '../../support/compare.mjs';
import { startTracing, stopTracing } from '../../support/telemetry.mjs';
import { trace } from '@opentelemetry/api';

const CALLS = 200_000;
const ROUNDS = 11;
const GOALS = { 'without an SDK': 'at most 300', 'sampleRatio 0': 'at most 300' };

const CONTAINER = {
  binding: 'orders',
  cluster: 'default',
  topic: 'orders',
  groupId: 'shop',
  tier: 0,
  clientId: 'eventbus-orders',
};
const RECORD = {
  topic: 'orders',
  partition: 3,
  offset: 14_209,
  value: Buffer.from('{}'),
  headers: [
    { key: 'x-order', value: Buffer.from('1') },
    {
      key: 'traceparent',
      value: Buffer.from('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    },
  ],
};
const OUTCOMES = [{ kind: 'succeeded' }];
const work = () => OUTCOMES;

/** Nanoseconds per record of what the pipeline asks of a tracer. All cases take turns. */
export async function tracingBench({ table }) {
  const cases = {
    'without an SDK': () => stopTracing(),
    'sampleRatio 0': () => startTracing('on'),
    'the sampler refuses': () => startTracing('off'),
    'the sampler refuses, the SDK alone': () => startTracing('off'),
    'all spans recorded': () => startTracing('on'),
  };
  const found = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, prepare] of Object.entries(cases)) {
      prepare();
      const options = name === 'sampleRatio 0' ? { sampleRatio: 0 } : {};
      found[name].push(name.endsWith('alone') ? ofSdk() : ofTracer(options));
    }
  }
  stopTracing();
  // The first round warms up.
  for (const [name, [, ...measured]] of Object.entries(found))
    table.note(`${name}, ns per record`, median(measured), 'ns', GOALS[name] ?? '-');
}

function ofTracer(options) {
  const [{ useFactory }] = EventBusTelemetryModule.forRoot(options).providers;
  const tracer = useFactory();
  return perCall(() => {
    const traced = tracer.process(CONTAINER, [RECORD]);
    const outcomes = traced ? traced.run(work) : work();
    traced?.end(outcomes);
  });
}

function ofSdk() {
  const tracer = trace.getTracer('bench');
  return perCall(() => {
    work();
    tracer.startSpan('process orders').end();
  });
}

/** Returns nanoseconds. @param {() => void} call */
function perCall(call) {
  const startedAt = clock();
  for (let index = 0; index < CALLS; index++) call();
  return ((clock() - startedAt) * 1_000_000) / CALLS;
}
