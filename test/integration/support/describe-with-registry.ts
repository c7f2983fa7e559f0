import { SchemaRegistry, type StartedSchemaRegistry } from '@nest-event-bus/testing';
import { describeMissing, describeWithKafka, type SharedKafka } from './describe-with-kafka.js';

const START_TIMEOUT_MS = 300_000;

/**
 * Declares a suite on the shared broker with its own schema registry, which it may kill. `registry()` returns
 * it inside hooks and tests.
 */
export function describeWithRegistry(
  name: string,
  suite: (kafka: SharedKafka, registry: () => StartedSchemaRegistry) => void,
): void {
  const missing = SchemaRegistry.missing({ controllable: true });
  if (missing !== undefined) return describeMissing(name, `needs a schema registry: ${missing}`);
  describeWithKafka(name, (kafka) => {
    let started: StartedSchemaRegistry | undefined;
    beforeAll(async () => {
      started = await SchemaRegistry.start({ controllable: true });
    }, START_TIMEOUT_MS);
    afterAll(() => started?.stop());
    suite(kafka, () => {
      if (started === undefined)
        throw new Error('The registry starts in beforeAll: call registry() in a hook or test.');
      return started;
    });
  });
}
