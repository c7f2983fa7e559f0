import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { EVENTBUS_DEFAULTS } from '@nest-event-bus/core';
import { KEY_REGISTER } from '../../libs/core/src/config/validation/key-register.js';
import { pageAt, sentencesOf, wordCountOf } from './docs-pages.js';

const root = join(__dirname, '../..');

interface Row {
  readonly path: string;
  readonly type: string;
  readonly defaultValue: string;
  readonly description: string;
}

const page = pageAt('docs/reference/options.md');
const rows: readonly Row[] = page.text
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [, path = '', type = '', defaultValue = '', description = ''] = line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    return { path: path.slice(1, -1), type, defaultValue, description };
  });

/** Returns the key as the page shows it: the key of a binding option is relative to the binding. */
const shown = (key: string): string =>
  key.replace('bindings.*.', '').replace('clusters.*.', 'clusters.<name>.');

const registered = KEY_REGISTER.map((entry) => ({ ...entry, path: shown(entry.key) }));

/**
 * Returns the default in the tree of defaults; undefined if the tree has no single value for the
 * path.
 */
function registeredDefault(path: string): unknown {
  const { cluster, binding, tier, ...application } = EVENTBUS_DEFAULTS;
  if (path.startsWith('retry.tiers[].')) return valueAt(tier, path.slice('retry.tiers[].'.length));
  if (path.startsWith('clusters.<name>.'))
    return valueAt(cluster, path.slice('clusters.<name>.'.length));
  return valueAt(application, path) ?? valueAt(binding, path);
}

function valueAt(tree: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((node, name) => (node as Record<string, unknown> | undefined)?.[name], tree);
}

/** Returns the default that the page states, if it begins with a literal. */
function literalOf(defaultValue: string): unknown {
  const code = /^`([^`]+)`/.exec(defaultValue)?.[1];
  return code === undefined ? undefined : (JSON.parse(code.replaceAll("'", '"')) as unknown);
}

describe('The option reference', () => {
  it('is up to date with the property classes', () => {
    const tool = join(root, 'tools/option-reference.mjs');
    expect(() =>
      execFileSync(process.execPath, [tool, '--check'], { stdio: 'pipe' }),
    ).not.toThrow();
  });

  it('lists every registered option, and no unknown option', () => {
    expect(rows.map(({ path }) => path).sort()).toEqual(registered.map(({ path }) => path).sort());
  });

  it.each(rows)('describes $path: type, default and effect', (row) => {
    expect(row.type).toMatch(/^`[^`]+`$/);
    expect(row.defaultValue).not.toBe('');
    expect(row.description).toMatch(/^[A-Z][a-z]+s [^.]+.*\.(\*\*)?$/);
  });

  it.each(rows)('describes $path in short sentences', ({ description }) => {
    const long = sentencesOf({ path: '', text: description }).filter(
      (sentence) => wordCountOf(sentence) > 25,
    );
    expect(long).toEqual([]);
  });

  it.each(rows)('states the default of $path as the code has it', ({ path, defaultValue }) => {
    const actual = registeredDefault(path);
    const bySingle = (actual as { SINGLE?: unknown } | undefined)?.SINGLE;
    expect(literalOf(defaultValue)).toEqual(bySingle ?? actual);
  });
});
