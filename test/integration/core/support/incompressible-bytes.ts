import { createHash } from 'node:crypto';

const BLOCK = 64;

/** Generates incompressible bytes, the same at each call. */
export function incompressibleBytes(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / BLOCK) }, (_, index) =>
    createHash('sha512').update(String(index)).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}
