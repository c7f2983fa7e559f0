import { BufferLimit } from './buffer-limit.js';

const MIB = 1024 * 1024;

function memoryOf(lanes: number): BufferLimit {
  const bufferLimit = new BufferLimit(() => 64 * MIB);
  for (let count = 0; count < lanes; count++) bufferLimit.addLane();
  return bufferLimit;
}

describe('BufferLimit', () => {
  it.each([
    [0, 32 * MIB],
    [1, 32 * MIB],
    [4, 8 * MIB],
    [3, Math.floor((64 * MIB) / 6)],
  ])('divides the bytes evenly: with %i lanes, %i bytes each', (lanes, bytes) => {
    expect(memoryOf(lanes).bytesPerPartition).toBe(bytes);
  });

  it('divides the bytes again when a lane is added or removed', () => {
    const bufferLimit = memoryOf(1);
    const before = bufferLimit.bytesPerPartition;
    bufferLimit.addLane();
    expect(bufferLimit.bytesPerPartition).toBe(before / 2);
    bufferLimit.removeLane();
    expect(bufferLimit.bytesPerPartition).toBe(before);
  });

  it('leaves each of very many lanes enough to go on', () => {
    expect(memoryOf(100_000).bytesPerPartition).toBe(32 * 1024);
  });
});
