import { EVERYTHING_ON, startBus } from '../../support/bus.mjs';
import { compareLatencies } from '../latency.mjs';

/** Measures from send to a handler of a binding with all features enabled and the default acknowledgement. */
export async function pipelineLatencyBench({ brokers, driver, ...rest }) {
  const ourSide = (topic) => busSide(brokers, driver, topic);
  await compareLatencies({ ...rest, ours: 'event bus', ourSide });
}

async function busSide(brokers, driver, topic) {
  const producer = driver.producer();
  const side = {
    latencies: [],
    send: (records) => producer.send(records.map((record) => ({ ...record, topic }))),
    close: () => Promise.all([bus.close(), producer.close()]),
  };
  const bus = await startBus({
    brokers,
    topic,
    groupId: `${topic}-bus`,
    handle: async ({ value }) => void side.latencies.push(performance.now() - value.at),
    ...EVERYTHING_ON,
  });
  await bus.go();
  return side;
}
