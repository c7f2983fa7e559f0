import fc from 'fast-check';
import { ConnectionError, type SendError } from '../../port/errors.js';
import { producerOn } from './producer-under-test.spec-support.js';
import {
  ScriptedProduceCluster,
  type PartitionStep,
  type ProduceStep,
} from './scripted-produce-cluster.spec-support.js';

const PARTITIONS = 3;

const partitionStep: fc.Arbitrary<PartitionStep> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: fc.constantFrom(5, 6, 19, 74, 75).map((code) => ({ code })) },
  {
    weight: 2,
    arbitrary: fc.record({ code: fc.constantFrom(3, 7, 20, -1, 56), writes: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constantFrom(10, 32, 29).map((code) => ({ code })) },
  { weight: 1, arbitrary: fc.record({ isLeftOut: fc.constant(true), writes: fc.boolean() }) },
);

const requestStep = fc.record({
  takesMs: fc.constantFrom(0, 1, 7, 300),
  isLost: fc.boolean(),
  partitions: fc.array(partitionStep, { minLength: PARTITIONS, maxLength: PARTITIONS }),
});

const call = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 40),
  partitions: fc.array(fc.nat(PARTITIONS - 1), { minLength: 1, maxLength: 6 }),
  timeoutMs: fc.constantFrom(30, 400, 100_000),
  abortsAfterMs: fc.constantFrom(undefined, undefined, undefined, 5),
});

const plan = fc.record({
  requests: fc.array(requestStep, { maxLength: 25 }),
  calls: fc.array(call, { minLength: 1, maxLength: 8 }),
  lingerMs: fc.constantFrom(0, 5),
  idempotent: fc.boolean(),
  maxRequestBytes: fc.constantFrom(700, 2_000, 1_000_000),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function stepOf(request: Plan['requests'][number] | undefined): ProduceStep {
  if (request === undefined) return {};
  const on = ({ partition }: { readonly partition: number }): PartitionStep => {
    const step = request.partitions[partition] ?? {};
    return request.isLost ? { writes: step.writes ?? step.code === undefined } : step;
  };
  return {
    takesMs: request.takesMs,
    on,
    ...(request.isLost ? { fails: new ConnectionError('cut') } : {}),
  };
}

/** Sends the planned records, and returns the outcome of each record. */
async function runPlan({ requests, calls, lingerMs, maxRequestBytes, idempotent }: Plan) {
  const cluster = new ScriptedProduceCluster({ orders: [0, 1, 0] });
  cluster.script = (_, attempt) => stepOf(requests[attempt - 1]);
  const producer = producerOn(cluster, { lingerMs, maxRequestBytes, idempotent });
  const sends: Promise<readonly (readonly [value: string, partition: number, state: string])[]>[] =
    [];
  for (const [index, { afterMs, partitions, timeoutMs, abortsAfterMs }] of calls.entries()) {
    if (afterMs > 0) await cluster.runtime.advance(afterMs);
    const records = partitions.map((partition, at) => ({
      topic: 'orders',
      partition,
      value: `${index}.${at}`,
    }));
    const abort = new AbortController();
    if (abortsAfterMs !== undefined) cluster.runtime.setTimer(() => abort.abort(), abortsAfterMs);
    sends.push(
      producer.send(records, { timeoutMs, signal: abort.signal }).then(
        () => records.map(({ value, partition }) => [value, partition, 'written'] as const),
        ({ outcomes }: SendError) =>
          records.map(
            ({ value, partition }, at) => [value, partition, outcomes[at]?.state ?? ''] as const,
          ),
      ),
    );
  }
  await cluster.runtime.advance(100_000);
  const results = (await Promise.all(sends)).flat();
  await producer.close();
  return { cluster, results };
}

describe('sends of KafkaProducer with random broker responses', () => {
  it('report what was really written, keep the order of each partition, and leave no timer behind', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (planned) => {
        const { cluster, results } = await runPlan(planned);
        for (const [value, partition, state] of results) {
          const times = cluster.log('orders', partition).filter((each) => each === value).length;
          if (state === 'written') expect([value, times >= 1]).toEqual([value, true]);
          if (state === 'not-written') expect([value, times]).toEqual([value, 0]);
        }
        for (let partition = 0; partition < PARTITIONS; partition++)
          expectOrder(
            cluster,
            partition,
            results.map(([value]) => value),
          );
        expect(cluster.runtime.pendingTimers).toBe(0);
      }),
      { numRuns: 150 },
    );
  }, 60_000);
});

/**
 * Asserts that first attempts are in the order of the calls. Duplicates are allowed, because
 * delivery is at least once.
 */
function expectOrder(
  cluster: ScriptedProduceCluster,
  partition: number,
  sent: readonly string[],
): void {
  const log = [...new Set(cluster.log('orders', partition))];
  const position = new Map(sent.map((value, at) => [value, at]));
  const positions = log.map((value) => position.get(value) ?? -1);
  expect(positions).toEqual([...positions].sort((left, right) => left - right));
}
