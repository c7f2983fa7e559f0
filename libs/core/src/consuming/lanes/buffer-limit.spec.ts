import { LaneMemory } from './buffer-limit.js';

const MIB = 1024 * 1024;

function memoryOf(lanes: number): LaneMemory {
  const memory = new LaneMemory(() => 64 * MIB);
  for (let count = 0; count < lanes; count++) memory.enter();
  return memory;
}

describe('the memory of lanes', () => {
  it.each([
    [0, 32 * MIB],
    [1, 32 * MIB],
    [4, 8 * MIB],
    [3, Math.floor((64 * MIB) / 6)],
  ])('is shared evenly: with %i of them, %i bytes are enough for each', (lanes, bytes) => {
    expect(memoryOf(lanes).enoughBytes).toBe(bytes);
  });

  it('is shared anew when a lane comes or goes', () => {
    const memory = memoryOf(1);
    const before = memory.enoughBytes;
    memory.enter();
    expect(memory.enoughBytes).toBe(before / 2);
    memory.leave();
    expect(memory.enoughBytes).toBe(before);
  });

  it('leaves each of very many what it needs to get on', () => {
    expect(memoryOf(100_000).enoughBytes).toBe(32 * 1024);
  });
});
