import { realRuntime } from '@nest-event-bus/broker/runtime';
import { externalRegistry } from './external-registry.js';
import { LocalRegistry } from './local-registry.js';
import { missingForRegistry, registryApp } from './registry-app.js';
import type { StartedSchemaRegistry } from './started-schema-registry.js';

/** The address of an existing registry, with its path: `http://host:port/apis/ccompat/v7`. */
export const SCHEMA_REGISTRY_VARIABLE = 'SCHEMA_REGISTRY_URL';

export interface SchemaRegistryOptions {
  /** Requires a registry that supports `kill` and `restart`, which only one in local Java does. */
  readonly controllable?: boolean;
  /** The maximum time until it is ready. Default one minute. */
  readonly startTimeoutMs?: number;
}

/**
 * A real schema registry for tests. Uses the one in SCHEMA_REGISTRY_URL, else Apicurio in local
 * Java (which Maven downloads once into the user's cache), else throws
 * SchemaRegistryUnavailableError.
 */
export class SchemaRegistry {
  static async start({
    controllable = false,
    startTimeoutMs = 60_000,
  }: SchemaRegistryOptions = {}): Promise<StartedSchemaRegistry> {
    const url = urlFromEnvironment();
    if (url !== undefined && !controllable)
      return externalRegistry(realRuntime, url, startTimeoutMs);
    return LocalRegistry.start(realRuntime, await registryApp(), startTimeoutMs);
  }

  /**
   * Returns the reason why `start` would fail on this machine; undefined if nothing is known to be
   * missing.
   */
  static missing({ controllable = false }: SchemaRegistryOptions = {}): string | undefined {
    return urlFromEnvironment() !== undefined && !controllable ? undefined : missingForRegistry();
  }
}

function urlFromEnvironment(): string | undefined {
  const url = process.env[SCHEMA_REGISTRY_VARIABLE]?.trim();
  return url === '' ? undefined : url;
}
