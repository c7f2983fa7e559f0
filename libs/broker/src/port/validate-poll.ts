import { integer } from './option-values.js';

/** `maxBytes` is Infinity where nobody asked for less. */
export function validatePoll(maxRecords: number, maxBytes: number): void {
  integer('poll: maxRecords', maxRecords, 1);
  if (maxBytes !== Infinity) integer('poll: maxBytes', maxBytes, 1);
}
