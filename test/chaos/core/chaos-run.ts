import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../broker/support/seeded-random.js';

const isSmoke = process.env['CHAOS_SMOKE'] === '1';

/** CHAOS_SEED repeats a run. */
export const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

export const newRandom = (): SeededRandom => new SeededRandom(seed);

/** Size of a run: from CHAOS_<name>, or the default of its form. */
export function sizeOf(
  name: string,
  sizes: { readonly full: number; readonly smoke: number },
): number {
  return Number(process.env[`CHAOS_${name}`] ?? (isSmoke ? sizes.smoke : sizes.full));
}
