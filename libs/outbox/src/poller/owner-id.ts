import type { Runtime } from '../runtime/runtime.js';

const MAX_LENGTH = 128;

/** An id that no other process has: host name, process id and a random UUID. */
export function newOwnerId(runtime: Runtime): string {
  const tail = `-${process.pid}-${runtime.uuid()}`;
  return runtime.hostname().slice(0, MAX_LENGTH - tail.length) + tail;
}
