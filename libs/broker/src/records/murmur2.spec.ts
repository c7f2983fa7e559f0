import { murmur2 } from './murmur2.js';
import { partitionOfKey } from './partition-of-key.js';

/** Computed with kafka-clients 4.1.1; the first six are in Java's own UtilsTest. */
const VECTORS: readonly [string, Buffer, number, readonly [number, number, number]][] = [
  ['21', Buffer.from('21'), -973932308, [0, 0, 40]],
  ['foobar', Buffer.from('foobar'), -790332482, [0, 6, 66]],
  ['a text of 24', Buffer.from('a-little-bit-long-string'), -985981536, [2, 8, 12]],
  ['a text of 26', Buffer.from('a-little-bit-longer-string'), -1486304829, [2, 11, 19]],
  [
    'a text of 48',
    Buffer.from('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8'),
    -58897971,
    [2, 5, 77],
  ],
  ['abc', Buffer.from('abc'), 479470107, [0, 3, 7]],
  ['the empty key', Buffer.alloc(0), 275646681, [0, 9, 81]],
  ['a', Buffer.from('a'), -1563381124, [1, 4, 24]],
  ['UTF-8', Buffer.from('Zürich'), -1551140815, [1, 1, 33]],
  ['bytes beyond ASCII', Buffer.from('ff00807ffe', 'hex'), 1118688894, [0, 6, 94]],
];

describe('murmur2 and partitionOfKey', () => {
  it.each(VECTORS)(
    'maps the key to the same hash and partition as Java: %s',
    (_name, key, hash, [of3, of12, of100]) => {
      expect(murmur2(key)).toBe(hash);
      expect(partitionOfKey(key, 3)).toBe(of3);
      expect(partitionOfKey(key, 12)).toBe(of12);
      expect(partitionOfKey(key, 100)).toBe(of100);
    },
  );

  it('a key always maps to the same partition, and to partition 0 if there is only one', () => {
    for (let index = 0; index < 100; index++) {
      expect(partitionOfKey(Buffer.from(`key-${index}`), 1)).toBe(0);
    }
  });
});
