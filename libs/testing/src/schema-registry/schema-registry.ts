import { realRuntime } from '@nest-event-bus/broker/runtime';
import { externalRegistry } from './external-registry.js';
import { LocalRegistry } from './local-registry.js';
import { missingForRegistry, registryApp } from './registry-app.js';
import type { StartedSchemaRegistry } from './started-schema-registry.js';

/** The address of an existing registry, with its path: `http://host:port/apis/ccompat/v7`. */
export const SCHEMA_REGISTRY_VARIABLE = 'SCHEMA_REGISTRY_URL';

export interface SchemaRegistryOptions {
  /**
   * Requires a registry that supports `kill` and `restart`. Only a registry in a local JVM supports
   * them.
   */
  readonly controllable?: boolean;
  /** The maximum time until the registry is ready. Default one minute. */
  readonly startTimeoutMs?: number;
}

/**
 * A real schema registry for tests. Uses the registry at SCHEMA_REGISTRY_URL if it is set;
 * otherwise Apicurio in a local JVM, which Maven downloads once into the user's cache. If neither
 * is possible, throws SchemaRegistryUnavailableError.
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
