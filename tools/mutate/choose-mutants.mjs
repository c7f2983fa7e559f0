import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMutations } from './find-mutations.mjs';
import { randomSample } from './random-sample.mjs';

/** @typedef {import('./switched-source.mjs').Mutant & { file: string, line: number, source: string }} PlacedMutant */
/** @typedef {{ name: string, total: number, mutants: readonly PlacedMutant[] }} Room */

/** More than any folder has. */
const IDS_PER_ROOM = 100_000;

/**
 * Chooses mutants of the sources in each of these folders.
 * @param {string} root
 * @param {readonly string[]} names
 * @param {{ count: number, seed: number }} sample
 * @returns {readonly Room[]}
 */
export function chooseMutants(root, names, { count, seed }) {
  return names.map((name, index) => {
    const all = mutantsIn(root, name, index * IDS_PER_ROOM);
    if (all.length === 0) throw new Error(`libs/core/src/${name} has nothing to mutate.`);
    return { name, total: all.length, mutants: randomSample(all, count, seed) };
  });
}

/**
 * @param {string} root
 * @param {string} room
 * @param {number} firstId
 * @returns {readonly PlacedMutant[]}
 */
function mutantsIn(root, room, firstId) {
  const mutations = sourcesOf(root, room).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const lines = text.split('\n');
    return findMutations(text).map((mutation) => {
      const line = text.slice(0, mutation.from).split('\n').length;
      return { ...mutation, file, line, source: (lines[line - 1] ?? '').trim() };
    });
  });
  return mutations.map((mutation, index) => ({ ...mutation, id: firstId + index + 1 }));
}

/**
 * @param {string} root
 * @param {string} room
 */
function sourcesOf(root, room) {
  const folder = join('libs/core/src', room);
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.spec(-support)?\.ts$/.test(file))
    .map((file) => join(folder, file))
    .toSorted();
}
