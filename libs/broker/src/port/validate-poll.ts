import { integer } from './option-values.js';

/** Checks the arguments of `poll`. `maxBytes` is Infinity by default. */
export function validatePoll(maxRecords: number, maxBytes: number): void {
  integer('poll: maxRecords', maxRecords, 1);
  if (maxBytes !== Infinity) integer('poll: maxBytes', maxBytes, 1);
}
