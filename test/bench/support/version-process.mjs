// A run of `versions`: loads the library and the bench of the given checkout, and sends the rate.
// The bench's own support files are loaded from that checkout, because their imports resolve there.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { folder, brokers, topic, handler, records } = JSON.parse(process.argv[2]);

/** @param {string} path */
const load = (path) => import(pathToFileURL(join(folder, path)).href);

const { busRate } = await load('test/bench/support/bus-rate.mjs');
const { EVERYTHING_ON } = await load('test/bench/support/bus.mjs');
const { kafkajs } = await load('libs/broker/dist/esm/kafkajs/index.js');

const driver = kafkajs({ brokers });
const run = () =>
  busRate({
    admin: driver.admin(),
    brokers,
    records,
    topic,
    isAsync: handler === 'async',
    ackMode: 'MANUAL',
    ...EVERYTHING_ON,
  });
await run(); // The first run warms up; each run has a group of its own.
process.send(await run());
await driver.close();
