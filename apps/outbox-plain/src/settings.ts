/** The places at which the process can kill itself, in the order in which an order passes them. */
export const CRASHES = [
  'before-commit',
  'before-dispatch',
  'before-delivery',
  'after-delivery',
] as const;
export type Crash = (typeof CRASHES)[number];

const crash = process.env['CRASH'] ?? '';
if (crash !== '' && !CRASHES.includes(crash as Crash))
  throw new RangeError(`CRASH must be one of ${CRASHES.join(', ')}.`);

const orders = Number(process.env['ORDERS'] ?? 3);
if (!Number.isInteger(orders) || orders < 0)
  throw new RangeError('ORDERS must be a whole number from 0.');

/** What the environment decides about the demo. */
export const settings = {
  /** The file of the database. */
  file: process.env['DATABASE'] ?? 'outbox-plain.db',
  /** The number of orders that are placed before the process ends. */
  orders,
  /** Where the process kills itself with its first order; undefined if it does not. */
  crash: crash === '' ? undefined : (crash as Crash),
} as const;

/** Ends the process at once, as `kill -9` does, if this is the chosen place. */
export function crashAt(place: Crash): void {
  if (settings.crash === place) process.kill(process.pid, 'SIGKILL');
}
