import fc from 'fast-check';
import {
  ProducerFencedError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
} from '../../../port/errors.js';
import type { ProducerSession } from '../../../port/producer.js';
import type { TransactionProtocol } from '../../../wire/index.js';
import { KafkaProducer } from '../index.js';
import { loggerInto } from '../producer-under-test.spec-support.js';
import { TransactionalCluster, type ScriptedResult } from './transactional-cluster.spec-support.js';

const PARTITIONS = 2;

const result: fc.Arbitrary<ScriptedResult> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(0, 1, 30).map((takesMs) => ({ kind: 'answered' as const, takesMs })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'request-lost' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'response-lost' as const }) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1, 25, 200, 3_000)
      .map((arrivesAfterMs) => ({ kind: 'late' as const, arrivesAfterMs })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(14, 15, 16, 51, 7, 19, -1, 32)
      .map((code) => ({ kind: 'code' as const, code })),
  },
);

const transaction = fc.record({
  sends: fc.array(
    fc.record({
      partitions: fc.array(fc.nat(PARTITIONS - 1), { minLength: 1, maxLength: 3 }),
      isAwaited: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  withOffsets: fc.boolean(),
  /**
   * The end of the transaction. With 'dies' it stays open, and another process takes over the
   * transactional id.
   */
  end: fc.constantFrom('commit', 'commit', 'commit', 'abort', 'dies'),
});

const plan = fc.record({
  script: fc.array(result, { maxLength: 60 }),
  transactions: fc.array(transaction, { minLength: 1, maxLength: 8 }),
  deliveryTimeoutMs: fc.constantFrom(400, 2_000, 120_000),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;
type Planned = Plan['transactions'][number];

/** The records that must be readable at the end, according to the results of the producers. */
interface Reported {
  readonly values: string[][];
  offset: number | undefined;
}

class Process {
  #producer: ProducerSession | undefined;

  constructor(
    readonly cluster: TransactionalCluster,
    private readonly deliveryTimeoutMs: number,
  ) {}

  get producer(): ProducerSession {
    return (this.#producer ??= new KafkaProducer({
      cluster: this.cluster,
      producerId: 'p',
      options: {
        transactionalId: 'tx',
        deliveryTimeoutMs: this.deliveryTimeoutMs,
        requestTimeoutMs: 300,
      },
      logger: loggerInto([]),
    }));
  }

  /** Stops the producer without any request, so that the cluster cannot notice it. */
  die(): void {
    this.#producer = undefined;
  }
}

/** Returns true if the transaction was committed, according to its result. */
async function carryOut(process: Process, planned: Planned, name: number): Promise<boolean> {
  const begun = await process.producer.transaction();
  try {
    for (const [at, { partitions, isAwaited }] of planned.sends.entries()) {
      const sent = begun.send(
        partitions.map((partition, index) => ({
          topic: 'orders',
          partition,
          value: `${name}.${at}.${index}`,
        })),
      );
      sent.catch(() => undefined);
      if (isAwaited) await sent;
    }
    if (planned.withOffsets)
      await begun.sendOffsets({
        groupId: 'g',
        memberId: 'm',
        generation: 1,
        offsets: [{ topic: 'in', partition: 0, offset: name }],
      });
    if (planned.end === 'dies') {
      process.die();
      return false;
    }
    if (planned.end === 'commit') {
      await begun.commit();
      return true;
    }
  } catch (error) {
    if (error instanceof ProducerFencedError) process.die();
  }
  return begun.abort().then(
    () => false,
    (error: unknown) => {
      if (error instanceof TransactionCommittedError) return true;
      if (error instanceof TransactionOutcomeUnknownError) throw error;
      return false;
    },
  );
}

/** Repeats a transaction that could not begin, as a process would do. */
async function persistently(process: Process, planned: Planned, name: number): Promise<boolean> {
  for (;;) {
    try {
      return await carryOut(process, planned, name);
    } catch (error) {
      if (error instanceof ProducerFencedError) process.die();
      if (error instanceof TransactionOutcomeUnknownError) throw error;
    }
  }
}

async function run(
  protocol: TransactionProtocol,
  { script, transactions, deliveryTimeoutMs }: Plan,
) {
  const cluster = new TransactionalCluster(protocol, { orders: [0, 1] });
  cluster.resultOf = (_, attempt) => script[attempt - 1] ?? { kind: 'answered' };
  const process = new Process(cluster, deliveryTimeoutMs);
  const reported: Reported = {
    values: Array.from({ length: PARTITIONS }, () => []),
    offset: undefined,
  };
  let isUndecided = false;
  const working = (async () => {
    const last: Planned = {
      sends: [{ partitions: [0, 1], isAwaited: true }],
      withOffsets: true,
      end: 'commit',
    };
    for (const [at, planned] of [...transactions, last].entries()) {
      const name = at + 1;
      if (!(await persistently(process, planned, name))) continue;
      if (planned.withOffsets) reported.offset = name;
      for (const [index, { partitions }] of planned.sends.entries())
        for (const [position, partition] of partitions.entries())
          reported.values[partition]?.push(`${name}.${index}.${position}`);
    }
    await process.producer.close();
  })().catch((error: unknown) => {
    if (!(error instanceof TransactionOutcomeUnknownError)) throw error;
    isUndecided = true;
  });
  await cluster.runtime.advance(600_000);
  await working;
  return { cluster, reported, isUndecided };
}

describe.each(['v1', 'v2'] as const)(
  'transactions in protocol %s on a faulty network',
  (protocol) => {
    it('write all their records in order, or none, as their results say', async () => {
      let undecided = 0;
      await fc.assert(
        fc.asyncProperty(plan, async (given) => {
          const { cluster, reported, isUndecided } = await run(protocol, given);
          if (isUndecided) return void undecided++;
          for (let partition = 0; partition < PARTITIONS; partition++)
            expect(cluster.coordinator.committed(`orders/${partition}`)).toEqual(
              reported.values[partition],
            );
          expect(cluster.coordinator.committedOffset).toBe(reported.offset);
          // A delayed request may have opened a transaction again, but without records.
          expect(cluster.coordinator.undecided).toEqual([]);
        }),
        { numRuns: 300 },
      );
      // An unknown result remains only if a producer is fenced during its commit.
      expect(undecided).toBeLessThan(20);
    }, 120_000);
  },
);
