import type { RecordProcessor } from '../model/outcome.js';

const LOOK_AGAIN_AFTER_MS = 60_000;

/**
 * For the retry topics. Nothing writes to them before the failure road exists, and what somebody
 * else wrote stays where it is: it is given back, never acknowledged.
 */
export const parkedProcessor: RecordProcessor = Object.freeze({
  process: () => ({ kind: 'handed-back' as const, delayMs: LOOK_AGAIN_AFTER_MS }),
});
