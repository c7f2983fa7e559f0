import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { EventBusMeterModule, EventBusTelemetryModule } from '@nest-event-bus/core/opentelemetry';
import { EventBusMetricsModule } from '@nest-event-bus/core/prometheus';
import { KafkaServer } from '@nest-event-bus/testing';
import { Registry } from 'prom-client';
import { busRate } from '../../support/bus-rate.mjs';
import { compareRates } from '../../support/compare.mjs';
import { fillTopic } from '../../support/fill-topic.mjs';
import { startMeters, startTracing, stopTracing } from '../../support/telemetry.mjs';

const RECORDS = 400_000;
const SCRAPE_INTERVAL_MS = 1_000;

/** Records per second of a no-op handler with everything that can be seen, and with nothing of it. */
export async function observedThroughputBench({ table }) {
  const kafka = await KafkaServer.start({ stockGroupSettings: true });
  const { brokers } = kafka;
  const driver = kafkajs({ brokers });
  const admin = driver.admin();
  try {
    const topic = await fillTopic({ driver, admin }, 'bench-observability', { records: RECORDS });
    const given = { brokers, admin, records: RECORDS, topic, ackMode: 'MANUAL' };
    const off = {
      name: 'everything off',
      run: () =>
        busRate({ ...given, options: { metrics: { enabled: false }, lag: { enabled: false } } }),
    };
    for (const tracing of [false, true]) {
      const name = tracing ? 'everything on, with tracing and sampleRatio 0' : 'everything on';
      const rates = await compareRates({ name, run: () => observedRate(given, tracing) }, off, {
        rounds: 5,
      });
      table.add(`${name} / everything off`, rates, { goal: '>= 0.9', unit: 'records/s' });
    }
  } finally {
    await driver.close();
    await kafka.stop();
  }
}

/** Metrics, lag, a scrape and an export by the meter every second. */
async function observedRate(given, tracing) {
  const registry = new Registry();
  const stopMeters = startMeters();
  if (tracing) startTracing('on');
  const scraping = setInterval(() => void registry.metrics(), SCRAPE_INTERVAL_MS);
  try {
    return await busRate({
      ...given,
      options: { lag: { intervalMs: 1_000 } },
      imports: [
        EventBusMetricsModule.forRoot({ registry }),
        EventBusMeterModule.forRoot(),
        ...(tracing ? [EventBusTelemetryModule.forRoot({ sampleRatio: 0 })] : []),
      ],
    });
  } finally {
    clearInterval(scraping);
    stopTracing();
    await stopMeters();
  }
}
