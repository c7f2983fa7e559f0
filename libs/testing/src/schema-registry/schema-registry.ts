import { realRuntime } from '@nest-event-bus/broker/runtime';
import { externalRegistry } from './external-registry.js';
import { LocalRegistry } from './local-registry.js';
import { missingForRegistry, registryApp } from './registry-app.js';
import type { StartedSchemaRegistry } from './started-schema-registry.js';

/** The address of a registry that runs already, with its path: `http://host:port/apis/ccompat/v7`. */
export const SCHEMA_REGISTRY_VARIABLE = 'SCHEMA_REGISTRY_URL';

export interface SchemaRegistryOptions {
  /** `kill` and `restart` will be called: only a registry that we run ourselves will do. */
  readonly controllable?: boolean;
  /** How long it may take to be ready. Default one minute. */
  readonly startTimeoutMs?: number;
}

/**
 * A real schema registry for tests: the one that SCHEMA_REGISTRY_URL names, else Apicurio in local
 * Java (it comes from Maven once and stays in the user's cache), else a SchemaRegistryUnavailableError.
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

  /** What `start` would fail for on this machine; undefined where nothing is known to be missing. */
  static missing({ controllable = false }: SchemaRegistryOptions = {}): string | undefined {
    return urlFromEnvironment() !== undefined && !controllable ? undefined : missingForRegistry();
  }
}

function urlFromEnvironment(): string | undefined {
  const url = process.env[SCHEMA_REGISTRY_VARIABLE]?.trim();
  return url === '' ? undefined : url;
}
