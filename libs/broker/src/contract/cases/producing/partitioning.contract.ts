import assert from 'node:assert/strict';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';

/** Computed with Java's own client: key, and its partition of 3 and of 12. */
const vectors: readonly (readonly [Buffer | string, number, number])[] = [
  ['21', 0, 0],
  ['foobar', 0, 6],
  ['a-little-bit-long-string', 2, 8],
  ['a-little-bit-longer-string', 2, 11],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', 2, 5],
  ['abc', 0, 3],
  ['', 0, 9],
  ['a', 1, 4],
  ['Z\u00fcrich', 1, 1],
  [Buffer.from('ff00807ffe', 'hex'), 0, 6],
];

export function partitioningContract({ testCase }: ContractSuite): void {
  for (const [partitions, column] of [
    [3, 1],
    [12, 2],
  ] as const)
    testCase(
      `chooses the same partition for a key as Java: ${partitions} partitions`,
      async (context) => {
        const topic = await context.topic(partitions);
        const written = await context.send(vectors.map(([key]) => ({ topic, key, value: 'v' })));
        assert.deepEqual(
          written.map(({ partition }, index) => [vectors[index]?.[0], partition]),
          vectors.map((vector) => [vector[0], vector[column]]),
        );
      },
    );

  testCase('chooses the same partition for a text and its bytes', async (context) => {
    const topic = await context.topic(12);
    const keys = ['Zürich', Buffer.from('Zürich'), 'Zürich'];
    const written = await context.send(keys.map((key) => ({ topic, key, value: 'v' })));
    assert.equal(new Set(written.map(({ partition }) => partition)).size, 1);
  });

  testCase('an explicit partition takes precedence over the key', async (context) => {
    const topic = await context.topic(3);
    const records = [0, 1, 2].map((partition) => ({ topic, partition, key: 'abc', value: 'v' }));
    const written = await context.send(records);
    assert.deepEqual(
      written.map(({ partition }) => partition),
      [0, 1, 2],
    );
  });

  for (const key of [null, undefined])
    testCase(`distributes records without a key: ${String(key)}`, async (context) => {
      const topic = await context.topic(4);
      const producer = context.producer({ batchBytes: 1_024 });
      const used = new Set<number>();
      for (let round = 0; round < 10; round++) {
        const records = numbered(30).map((value) => ({ topic, key, value: value.padEnd(400) }));
        const written = await context.within(producer.send(records), 'records without a key');
        for (const { partition } of written) used.add(partition);
      }
      assert.equal(used.size, 4);
    });
}
