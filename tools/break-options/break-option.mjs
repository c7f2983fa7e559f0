// Ignores one option, as if nobody had set it. tools/break-options.mjs puts this file into its copy of
// the sources, next to resolve-binding.ts and resolve-options.ts; the product never contains it.

const BINDING = 'bindings.*.';
const broken = process.env['BREAK_OPTION'] ?? '';

/** Options whose effect is a check at startup. */
const IN_THE_CHECKS = new Set(['expectedProcessingMs', 'typedJson.trustedPackages']);

/** Values for options that cannot be left out. */
const OTHER_VALUES = new Map(
  Object.entries({
    topic: 'another-topic',
    groupId: 'another-group',
    'circuitBreaker.enabled': false,
    'exceptionRouting[].match': { name: 'AnotherError' },
    'exceptionRouting[].routing': 'NEXT_TIER',
    'exceptionRouting[].tier': 1,
    'retry.skipToTierMapping[].match': { name: 'AnotherError' },
    'retry.skipToTierMapping[].tier': 1,
  }),
);

let acceptsViolations = false;

export const areViolationsAccepted = () => acceptsViolations;

/**
 * Resolves a binding without the option. The checks still see the option, so that a test which fails
 * misses the effect, and not a consistent configuration.
 * @template {{ binding: unknown }} Draft
 * @param {(name: string, given: any, context: any) => Draft} resolve
 * @param {string} name
 * @param {any} given
 * @param {any} context
 * @returns {Draft}
 */
export function resolveWithout(resolve, name, given, context) {
  const key = broken.startsWith(BINDING) ? broken.slice(BINDING.length) : '';
  if (key === '') return resolve(name, given, context);
  const layers = given.map((/** @type {any} */ layer) => ({
    ...layer,
    properties: without(layer.properties, key, OTHER_VALUES.get(key)),
  }));
  const defaults = context.defaults.map((/** @type {any} */ layer) => ({
    ...layer,
    values: without(layer.values, key, OTHER_VALUES.get(key)),
  }));
  if (IN_THE_CHECKS.has(key)) return resolve(name, layers, { ...context, defaults });
  const draft = resolve(name, given, context);
  if (draft.binding === undefined) return draft;
  acceptsViolations = true;
  try {
    return { ...draft, binding: resolve(name, layers, { ...context, defaults }).binding };
  } finally {
    acceptsViolations = false;
  }
}

/**
 * Returns the options and loaders without an option of the application or of a cluster.
 * @param {readonly any[]} roots
 */
export function rootsWithout(roots) {
  if (broken === '' || broken.startsWith(BINDING)) return roots;
  if (broken === 'loaders') return roots.slice(0, 1);
  return roots.map((root) => ({ ...root, values: without(root.values, broken) }));
}

/**
 * Returns a copy without the value at the path, or with another one, if there is a value.
 * @param {any} values
 * @param {string} key
 * @param {unknown} [instead] for a value that is set
 * @returns {any}
 */
export function without(values, key, instead) {
  if (typeof values !== 'object' || values === null) return values;
  const [, name = '', isList, rest] = /^([^.[]+)(\[\])?(?:\.(.+))?$/.exec(key) ?? [];
  if (name === '*' && rest !== undefined) {
    const entries = Object.entries(values);
    return Object.fromEntries(entries.map(([one, value]) => [one, without(value, rest, instead)]));
  }
  const value = values[name];
  if (value === undefined) return values;
  if (rest === undefined) return { ...values, [name]: instead };
  const change = (/** @type {any} */ inner) => without(inner, rest, instead);
  const changed = isList && Array.isArray(value) ? value.map(change) : change(value);
  return { ...values, [name]: changed };
}
