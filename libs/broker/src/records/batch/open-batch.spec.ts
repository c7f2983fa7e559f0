import { CHUNK_BYTES, RecordChunks } from './open-batch.js';

describe('RecordChunks', () => {
  it('puts small pieces into one chunk without overlaps', () => {
    const chunks = new RecordChunks();
    const pieces = Array.from({ length: 10 }, () => chunks.take(1000));
    expect(new Set(pieces.map(({ bytes }) => bytes)).size).toBe(1);
    expect(pieces.map(({ start }) => start)).toEqual(pieces.map((_, index) => index * 1000));
  });

  it('starts another chunk if a piece does not fit into the current one', () => {
    const chunks = new RecordChunks();
    const first = chunks.take(7000);
    const second = chunks.take(7000);
    const third = chunks.take(7000);
    expect(second.bytes).toBe(first.bytes);
    expect(third.bytes).not.toBe(first.bytes);
    expect(third.start).toBe(0);
  });

  it.each([1, 100, CHUNK_BYTES / 2, CHUNK_BYTES / 2 + 1, CHUNK_BYTES, 5 * CHUNK_BYTES])(
    'lets a piece of %d bytes keep at most one chunk, or its own size, in memory',
    (size) => {
      const { bytes, start } = new RecordChunks().take(size);
      expect(bytes.buffer.byteLength).toBeLessThanOrEqual(Math.max(CHUNK_BYTES, size));
      expect(start + size).toBeLessThanOrEqual(bytes.length);
    },
  );
});
