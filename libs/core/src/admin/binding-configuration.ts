import type { BindingSources } from '../config/resolving/resolved-options.js';
import {
  RUNTIME_KEYS,
  RUNTIME_SOURCE,
  type RuntimeChanges,
  type RuntimeValue,
} from '../config/runtime-keys.js';
import type {
  BindingSnapshot,
  ContainerRegistration,
} from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { CommandNote, LifecycleManager } from '../containers/lifecycle/lifecycle-manager.js';
import { InvalidAdminRequestException } from '../errors/admin-errors.js';
import { ConfigurationNeedsRestartException } from '../errors/runtime-configuration-errors.js';
import type { BindingRef } from '../model/states/binding-ref.js';

/** Where the value of an option comes from. */
export type OptionOrigin = 'default' | 'preset' | 'code' | 'environment' | 'runtime';

export interface ShownOption {
  readonly key: string;
  readonly value: RuntimeValue;
  readonly origin: OptionOrigin;
  /** The source in words: `the options`, `@EventHandler on Orders.onPlaced`. */
  readonly source: string;
  /** False if a new value needs a restart of the application. */
  readonly isChangeable: boolean;
}

export interface BindingConfiguration {
  readonly binding: BindingSnapshot;
  readonly options: readonly ShownOption[];
}

export interface BindingConfigurationParts {
  readonly registry: Pick<ContainerRegistry, 'require'>;
  readonly lifecycle: Pick<LifecycleManager, 'replace'>;
  readonly sourcesOf: (config: ContainerRegistration['config']) => BindingSources;
  readonly prepareChange: (
    registration: ContainerRegistration,
    changes: RuntimeChanges,
  ) => Promise<() => ContainerRegistration>;
}

/** Shows the options of bindings with their origins, and changes those that are safe to change. */
export class BindingConfigurations {
  constructor(private readonly parts: BindingConfigurationParts) {}

  show(ref: BindingRef): readonly ShownOption[] {
    const { registry, sourcesOf } = this.parts;
    const { settings } = sourcesOf(registry.require(ref).config);
    return [...settings].flatMap(([key, { isDefault, source, value }]) =>
      isShown(value)
        ? [
            {
              ...{ key, value, source },
              origin: isDefault ? 'default' : originOf(source),
              isChangeable: RUNTIME_KEYS.get(key) === 'changeable',
            },
          ]
        : [],
    );
  }

  /** Null ends an earlier change: the value of the configuration counts again. */
  async change(
    ref: BindingRef,
    changes: Readonly<Record<string, RuntimeValue | null>>,
    note: CommandNote,
  ): Promise<BindingSnapshot> {
    const { lifecycle, prepareChange, registry } = this.parts;
    const registration = registry.require(ref);
    requireChangeable(registration.bindingName, Object.keys(changes));
    const prepare = (current: ContainerRegistration): Promise<() => ContainerRegistration> => {
      const values = { ...this.#changed(ref), ...changes };
      const kept = Object.entries(values).flatMap(([key, value]) =>
        value === null ? [] : [[key, value] as const],
      );
      return prepareChange(current, Object.fromEntries(kept));
    };
    // Two changes at once must not begin with the same values, or the first one is lost.
    return lifecycle.replace(ref, prepare, note);
  }

  #changed(ref: BindingRef): RuntimeChanges {
    const own = this.show(ref).filter(({ origin }) => origin === 'runtime');
    return Object.fromEntries(own.map(({ key, value }) => [key, value]));
  }
}

function requireChangeable(binding: string, keys: readonly string[]): void {
  const unknown = keys.filter((key) => !RUNTIME_KEYS.has(key));
  if (unknown.length > 0)
    throw new InvalidAdminRequestException(
      unknown.map((key) => ({
        path: `body.changes.${key.slice(0, 100)}`,
        message: 'must be an option that can be changed: GET configuration lists them',
      })),
    );
  const fixed = keys.filter((key) => RUNTIME_KEYS.get(key) === 'needs-restart');
  if (fixed.length > 0) throw new ConfigurationNeedsRestartException(binding, fixed);
}

function isShown(value: unknown): value is RuntimeValue {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function originOf(source: string): OptionOrigin {
  if (source === RUNTIME_SOURCE) return 'runtime';
  if (source.startsWith('preset ')) return 'preset';
  return source.includes('environment') ? 'environment' : 'code';
}
