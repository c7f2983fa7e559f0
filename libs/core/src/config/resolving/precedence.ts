import type { TopicBindingProperties } from '../properties/topic-binding-properties.js';
import { readFeature } from '../properties/feature-properties.js';
import { batchHandlerDefaults } from '../reading/batch-handler-defaults.js';
import { rejectConflictingHandlerOptions } from '../reading/conflicting-handler-options.js';
import type { Layer } from '../reading/merge-layers.js';
import { isPlainObject } from '../reading/plain-object.js';
import { below, type Violations } from '../validation/violations.js';
import type { BindingLayer } from './resolve-binding.js';
import type { OptionLayers } from './resolve-options.js';

/**
 * The sources of a binding's options, the highest first. The first source that sets a key wins:
 *
 * 1. The options of the module, or a feature. A binding is in one of the two.
 * 2. The loaders, in their order.
 * 3. The decorator of the handler.
 * 4. For a batch handler: what its decorator implies.
 * 5. The `defaults` of the options, then those of the loaders.
 * 6. The preset.
 * 7. The defaults of the library.
 *
 * `bindingLayers` puts 1 to 4 into this order, and `allLayers` adds 5 to 7.
 */
export function allLayers(
  own: readonly Layer[],
  { defaults, preset, library }: LowerLayers,
): readonly Layer[] {
  return [...own, ...defaults, preset, library];
}

export interface LowerLayers {
  readonly defaults: readonly Layer[];
  readonly preset: Layer;
  readonly library: Layer;
}

type LayersByName = Map<string, BindingLayer[]>;

export function bindingLayers(
  roots: readonly Layer[],
  { features = [], handlers = [] }: OptionLayers,
  violations: Violations,
): LayersByName {
  rejectConflictingHandlerOptions(handlers, violations);
  const [options, ...loaders] = roots;
  const byName: LayersByName = new Map();
  if (options) addAll(byName, options.source, options.path, options.values['bindings']);
  for (const { source, options: given } of features) {
    const bindings = readFeature(source, given, violations);
    for (const name of Object.keys(bindings)) rejectDuplicate(name, byName, source, violations);
    addAll(byName, source, '', bindings);
  }
  for (const { source, path, values } of loaders) addAll(byName, source, path, values['bindings']);
  for (const { binding, source, form, properties } of handlers) {
    // Ignores a handler of a binding that is not configured, because matchHandlers reports it.
    if (!byName.has(binding) && properties.topic === undefined) continue;
    add(byName, binding, { source, path: `${source} (${binding})`, properties });
    if (form === 'slice')
      add(byName, binding, batchHandlerDefaults(`@EventHandler.Batch on ${source}`));
  }
  return byName;
}

function addAll(byName: LayersByName, source: string, path: string, bindings: unknown): void {
  if (!isPlainObject(bindings)) return;
  for (const [name, properties] of Object.entries(bindings)) {
    if (properties === undefined) continue;
    const at = below(below(path, 'bindings'), name);
    add(byName, name, { source, path: at, properties: properties as TopicBindingProperties });
  }
}

function add(byName: LayersByName, name: string, layer: BindingLayer): void {
  byName.set(name, [...(byName.get(name) ?? []), layer]);
}

function rejectDuplicate(
  name: string,
  byName: LayersByName,
  source: string,
  violations: Violations,
): void {
  const first = byName.get(name)?.[0];
  if (!first) return;
  const message = `is configured twice, by ${first.source} and by ${source}. Configure it once, or rename one of the two.`;
  violations.add('DUPLICATE_BINDING', below('bindings', name), name, message);
}
