import { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { LoadedOptions } from '../config/reading/loaded-options.js';
import { isPlainObject, type PlainObject } from '../config/reading/plain-object.js';
import type { PropertiesClass, PropertyShape } from '../config/properties/property-decorators.js';
import { propertiesOf } from '../config/properties/property-tree.js';
import { Violations } from '../config/validation/violations.js';

/**
 * Reads the tree of a YAML or JSON file, with or without a root key `eventbus`. Keys may be written
 * `group-id` or `groupId`; names of bindings and clusters stay as they are. An unknown key
 * is kept as written, so that the validator reports it.
 */
export function fromConfigTree(tree: PlainObject, source = 'configuration tree'): LoadedOptions {
  const root = isPlainObject(tree) && 'eventbus' in tree ? tree['eventbus'] : tree;
  const violations = new Violations();
  const options = toCamelCase(EventBusProperties, root, source, violations);
  violations.throwIfAny();
  return { source, options: options as Partial<EventBusProperties>, unused: [] };
}

function toCamelCase(
  type: PropertiesClass,
  tree: unknown,
  path: string,
  violations: Violations,
): unknown {
  if (!isPlainObject(tree)) return tree;
  const known = propertiesOf(type);
  const entries = new Map<string, unknown>();
  for (const [original, value] of Object.entries(tree)) {
    const camel = original.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    const key = known.has(camel) ? camel : original;
    const shape = known.get(key);
    const at = `${path}.${original}`;
    if (entries.has(key)) rejectDuplicateKey(at, key, violations);
    entries.set(key, shape ? convertNested(shape, value, at, violations) : value);
  }
  // Object.fromEntries defines own keys, so `__proto__` stays an ordinary key and is refused later.
  return Object.fromEntries(entries);
}

function convertNested(
  { kind, type }: PropertyShape,
  value: unknown,
  path: string,
  violations: Violations,
): unknown {
  if (!type) return value;
  if (kind === 'map' && isPlainObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [
        name,
        toCamelCase(type(), entry, `${path}.${name}`, violations),
      ]),
    );
  }
  if (kind === 'nested-list') {
    return Array.isArray(value)
      ? value.map((item, index) => toCamelCase(type(), item, `${path}[${index}]`, violations))
      : mapAsList(value);
  }
  return toCamelCase(type(), value, path, violations);
}

/** Accepts a map in place of a list: `skip-to-tier-mapping: { ServiceUnavailableException: 2 }`. */
const mapAsList = (value: unknown): unknown =>
  isPlainObject(value) ? Object.entries(value).map(([match, tier]) => ({ match, tier })) : value;

function rejectDuplicateKey(path: string, key: string, violations: Violations): void {
  const message = `'${key}' is given twice, in two spellings. Remove one of them.`;
  violations.add('KEY_TWICE', path, undefined, message);
}
