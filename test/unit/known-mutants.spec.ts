import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMutations } from '../../tools/mutate/find-mutations.mjs';
import { KNOWN_MUTANTS } from '../../tools/mutate/known-mutants.mjs';
import { randomSample } from '../../tools/mutate/random-sample.mjs';
import { switchedSource } from '../../tools/mutate/switched-source.mjs';

const root = join(__dirname, '../..');

describe('A known mutant', () => {
  it.each(KNOWN_MUTANTS)('replaces text that occurs once: $name', ({ file, text, spec }) => {
    expect(readFileSync(join(root, file), 'utf8').split(text)).toHaveLength(2);
    expect(existsSync(join(root, spec))).toBe(true);
  });
});

describe('The tool mutate', () => {
  const changesOf = (source: string) => findMutations(source).map(({ change }) => change);

  it.each([
    ['if (a) b();', ['a -> !(a)', 'without: b();']],
    ['const c = a < b;', ['a < b -> a <= b']],
    ['const c = { d, e: f };', ['d: undefined', 'e: undefined']],
    ['const c = a.some(b);', ['a.some(b) -> a.every(b)']],
    ['const c = a.filter(b);', ['a.filter(b) -> a']],
    ["const c: 'x' = 'x';", ["'x' -> 'x-mutant'"]],
    ['function f() { a(); return 1; }', ['f returns at once', 'without: a();', '1 -> 2']],
    ["throw new SomeError('words', true);", []],
    ["import { a } from 'b';", []],
  ])('finds the changes of %s', (source, expected) => {
    expect(changesOf(source)).toEqual(expected);
  });

  it('puts mutants into one source, of which one is enabled at a time', () => {
    const source = 'let n = 0; if (a < b) n = 1; return n;';
    const mutants = findMutations(source).map((mutation, index) => ({
      ...mutation,
      id: index + 1,
    }));
    // oxlint-disable-next-line typescript/no-implied-eval
    const body = new Function('globalThis', 'a', 'b', switchedSource(source, mutants));
    const run = (enabled: number): unknown =>
      body({ isMutant: (id: number) => id === enabled }, 1, 2);
    expect(run(0)).toBe(1);
    const changed = mutants.filter(({ id }) => run(id) !== 1).map(({ change }) => change);
    expect(changed).toEqual(['a < b -> !(a < b)', 'without: n = 1;', '1 -> 2']);
  });

  it('chooses the same mutants for the same seed', () => {
    const all = Array.from({ length: 100 }, (_, index) => index);
    expect(randomSample(all, 5, 1)).toEqual(randomSample(all, 5, 1));
    expect(randomSample(all, 5, 2)).not.toEqual(randomSample(all, 5, 1));
  });
});
