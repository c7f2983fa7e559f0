import type { Runtime } from '@nest-event-bus/broker/runtime';
import { registerSchema, untilReady, type RegisteredReference } from './registry-api.js';
import { SchemaRegistryUnavailableError } from './schema-registry-errors.js';
import type { StartedSchemaRegistry } from './started-schema-registry.js';

/** A registry outside of the control of the tests: it can be used, but not killed. */
class ExternalRegistry implements StartedSchemaRegistry {
  readonly source = 'external';

  constructor(
    private readonly runtime: Runtime,
    readonly url: string,
  ) {}

  register(
    subject: string,
    schema: unknown,
    references?: readonly RegisteredReference[],
  ): Promise<number> {
    return registerSchema(this.runtime, this.url, subject, { schema, references });
  }

  kill(): Promise<void> {
    return Promise.reject(notControllableError());
  }

  restart(): Promise<void> {
    return Promise.reject(notControllableError());
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const notControllableError = (): SchemaRegistryUnavailableError =>
  new SchemaRegistryUnavailableError(
    'this one cannot be killed; start it with controllable: true, in local Java',
  );

export async function externalRegistry(
  runtime: Runtime,
  url: string,
  timeoutMs: number,
): Promise<StartedSchemaRegistry> {
  await untilReady(runtime, url, timeoutMs);
  return new ExternalRegistry(runtime, url);
}
