import {
  RabbitServer,
  type RabbitServerOptions,
  type StartedRabbit,
} from '@nest-event-bus/testing';
import { describeMissing } from './describe-with-kafka.js';

const START_TIMEOUT_MS = 180_000;

/**
 * Declares a suite with a RabbitMQ of its own, which it may kill and freeze. `rabbit()` returns the
 * server inside hooks and tests. Without an installed server the suite is skipped and reports the
 * reason.
 */
export function describeWithRabbit(
  name: string,
  options: RabbitServerOptions,
  suite: (rabbit: () => StartedRabbit) => void,
): void {
  const missing = RabbitServer.missing();
  if (missing !== undefined) return describeMissing(name, `needs RabbitMQ: ${missing}`);
  describe(name, () => {
    let started: StartedRabbit | undefined;
    beforeAll(async () => {
      started = await RabbitServer.start({ startTimeoutMs: START_TIMEOUT_MS, ...options });
    }, START_TIMEOUT_MS);
    afterAll(() => started?.stop(), 120_000);
    suite(() => {
      if (started === undefined)
        throw new Error('The server starts in beforeAll: call rabbit() in a hook or test.');
      return started;
    });
  });
}
