import { isPlainObject, type PlainObject } from '../reading/plain-object.js';
import { IsMapOf } from './property-decorators.js';
import { readLayer } from '../reading/read-layer.js';
import { TopicBindingProperties } from './topic-binding-properties.js';
import type { Violations } from '../validation/violations.js';

/** Contains the options of `EventBusModule.forFeature`. */
export class FeatureProperties {
  /**
   * Describes the bindings of the feature by their names.
   *
   * @defaultValue none; required
   */
  @IsMapOf(() => TopicBindingProperties)
  bindings!: Readonly<Record<string, TopicBindingProperties>>;
}

/**
 * Returns the bindings of a feature as the application wrote them. Refuses a feature without
 * bindings, which is always a mistake.
 */
export function readFeature(source: string, given: unknown, violations: Violations): PlainObject {
  const before = violations.all.length;
  const { values } = readLayer(FeatureProperties, { source, path: source, given }, violations);
  const { bindings } = values;
  if (isPlainObject(bindings)) return bindings;
  if (violations.all.length > before) return {};
  const message = 'brings no bindings. Give it { bindings: { name: { topic, groupId } } }.';
  violations.add('FEATURE_WITHOUT_BINDINGS', source, undefined, message);
  return {};
}
