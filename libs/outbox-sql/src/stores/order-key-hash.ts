import { createHash } from 'node:crypto';

/**
 * A number of 48 bits for a text. Two keys with the same number only wait for each other, so a
 * collision costs time and never order.
 */
export const hash48 = (text: string): number =>
  createHash('sha256').update(text).digest().readUIntBE(0, 6);
