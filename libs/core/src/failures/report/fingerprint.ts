import { createHash } from 'node:crypto';
import type { ErrorDescription } from './error-description.js';

/** In the place of a fingerprint where a record failed in several ways. */
export const VARIED = 'varied';

/** Short, and the same wherever the error happens. Made of what is told of it: what was redacted is not in it. */
export function fingerprintOf({ className, message = '' }: ErrorDescription): string {
  return createHash('sha256').update(`${className}\n${message}`).digest('hex').slice(0, 16);
}
