import { createHash } from 'node:crypto';

const BLOCK = 64;

/** Bytes that no compression makes any less, the same each time. */
export function noise(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / BLOCK) }, (_, index) =>
    createHash('sha512').update(String(index)).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}
