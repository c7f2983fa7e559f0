import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ExactlyOnceWorker } from '../../../integration/kafkajs/exactly-once-worker.js';
import { memberships } from '../support/memberships.js';
import type { WorkerProcessSettings } from './worker-process.js';

const REPORT_EVERY_MS = 250;

const { brokers, membership, ...settings } = JSON.parse(
  process.argv[2] ?? '',
) as WorkerProcessSettings;
const worker = new ExactlyOnceWorker({
  ...settings,
  driver: kafkajs({ brokers, clientId: settings.transactionalId }),
  consumer: memberships[membership],
});

const report = (then?: () => void): unknown =>
  process.stdout.write(`${JSON.stringify(worker.report)}\n`, then);

async function reportNowAndThen(): Promise<never> {
  for (;;) {
    report();
    await sleep(realRuntime, REPORT_EVERY_MS);
  }
}

// Exits when the test run has ended.
process.stdin.on('close', () => process.exit(0));
// Any input is the command to leave.
process.stdin.on('data', () => worker.stop());
void reportNowAndThen();
void worker.run().then(() => report(() => process.exit(0)));
