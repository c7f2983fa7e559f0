// npm run bench -- pipeline [part ...]: a handler on the event bus with all features enabled, compared with
// other ways to consume a topic in Node, on one broker with default group settings, in one run. `--cpu`
// measures throughput by processor time, for a machine that is busy with other things.
import { join } from 'node:path';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { KafkaServer } from '@nest-event-bus/testing';
import { Kafka, logLevel } from 'kafkajs';
import { byKeyBench } from './parts/pipeline/by-key.mjs';
import { immediateBench } from './parts/pipeline/immediate.mjs';
import { pipelineLatencyBench } from './parts/pipeline/latency.mjs';
import { throughputBench } from './parts/pipeline/throughput.mjs';
import { byProcessorTime } from './support/clock.mjs';
import { Table } from './support/table.mjs';

const throughput = { throughput: throughputBench };
const waiting = { immediate: immediateBench, 'by-key': byKeyBench, latency: pipelineLatencyBench };
const parts = byProcessorTime ? throughput : { ...throughput, ...waiting };
const chosen = process.argv.slice(2).filter((name) => !name.startsWith('-'));

const kafka = await KafkaServer.start({ stockGroupSettings: true });
const { brokers } = kafka;
const driver = kafkajs({ brokers });
const raw = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
const admin = driver.admin();
const table = new Table('pipeline');
try {
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name))
      await part({ brokers, driver, admin, raw, table });
  table.write(join(import.meta.dirname, 'results'));
} finally {
  await driver.close();
  await kafka.stop();
}
