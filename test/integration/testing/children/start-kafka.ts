import { once } from 'node:events';
import { KafkaServer, KafkaStartError, KafkaUnavailableError } from '@nest-event-bus/testing';

/** Starts a server with the options given as JSON, prints the outcome on one line, and stops when its input ends. */
try {
  const { freeze, ...options } = JSON.parse(process.argv[2] ?? '{}');
  await using kafka = await KafkaServer.start(options);
  if (freeze) kafka.freeze(0);
  process.stdout.write(
    `${JSON.stringify({ kind: 'started', brokers: kafka.brokers, canKill: kafka.canKill })}\n`,
  );
  await once(process.stdin.resume(), 'end');
} catch (error) {
  if (!(error instanceof KafkaUnavailableError || error instanceof KafkaStartError)) throw error;
  const kind = error instanceof KafkaUnavailableError ? 'unavailable' : 'failed';
  process.stdout.write(`${JSON.stringify({ kind, message: error.message })}\n`);
}
