import { NO_GENERATION } from './consumer-protocol.js';

/** As Java's CooperativeStickyAssignor writes it: generation i32, and nothing else. */
export function encodeGeneration(generation: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(generation);
  return bytes;
}

/** What cannot be read counts as no generation: the claims that go with it are then the weakest. */
export function decodeGeneration(bytes: Buffer | null): number {
  return bytes !== null && bytes.length >= 4 ? bytes.readInt32BE(0) : NO_GENERATION;
}
