import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../broker/support/seeded-random.js';

export const isSmoke = process.env['CHAOS_SMOKE'] === '1';

/** The variable CHAOS_SEED repeats a run with the same random numbers. */
export const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

export const newRandom = (): SeededRandom => new SeededRandom(seed);

/**
 * Returns the size of a run: the value of the variable CHAOS_<name>, or the default of the full or
 * the smoke run.
 */
export function sizeOf(
  name: string,
  sizes: { readonly full: number; readonly smoke: number },
): number {
  return Number(process.env[`CHAOS_${name}`] ?? (isSmoke ? sizes.smoke : sizes.full));
}
