import fc from 'fast-check';
import { ConnectionError, type SendError } from '../../port/errors.js';
import type { WrittenRecord } from '../../port/record.js';
import { producerOn } from './producer-under-test.spec-support.js';
import {
  ScriptedProduceCluster,
  type ProduceStep,
} from './scripted-produce-cluster.spec-support.js';
import { SequencedLog } from './sequenced-log.spec-support.js';

const PARTITIONS = 2;

/** The result of one request. Without a forced code the response is that of the log. */
const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'answered' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'request-lost' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'answer-lost' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      arrivesAfterMs: fc.constantFrom(1, 60, 400, 3_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('moved' as const),
      code: fc.constantFrom(3, 5, 6, 19, 20, 7, -1),
      hasWritten: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('refused' as const),
      code: fc.constantFrom(10, 32, 9_999),
    }),
  },
);
const requestFate = fc.record({ fate, takesMs: fc.constantFrom(0, 1, 7, 300) });

const call = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 40, 500),
  partitions: fc.array(fc.nat(PARTITIONS - 1), { minLength: 1, maxLength: 4 }),
  timeoutMs: fc.constantFrom(30, 400, 100_000),
  abortsAfterMs: fc.constantFrom(undefined, undefined, undefined, 5),
});

const plan = fc.record({
  requests: fc.array(requestFate, { maxLength: 30 }),
  calls: fc.array(call, { minLength: 1, maxLength: 12 }),
  lingerMs: fc.constantFrom(0, 5),
  identities: fc.array(fc.constantFrom('given', 'lost', 'none'), { maxLength: 3 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;
type Call = Omit<Plan['calls'][number], 'afterMs'>;

/**
 * Codes that a broker can return after it has written. They do not show whether the records were
 * written.
 */
const AMBIGUOUS = new Set([3, 6, 20, 7, -1]);

function stepOf(
  request: Plan['requests'][number] | undefined,
  logs: readonly SequencedLog[],
): ProduceStep {
  const append: ProduceStep['on'] = (asked) => logs[asked.partition]?.append(asked) ?? {};
  if (request === undefined) return { on: append };
  const { fate: what, takesMs } = request;
  const fails = new ConnectionError('cut');
  switch (what.kind) {
    case 'answered':
      return { takesMs, on: append };
    case 'request-lost':
      return { takesMs, fails, on: () => ({ writes: false }) };
    case 'answer-lost':
      return { takesMs, fails, on: append };
    case 'late':
      return { takesMs, fails, arrivesAfterMs: what.arrivesAfterMs, on: append };
    case 'refused':
      return { takesMs, on: () => ({ code: what.code, writes: false }) };
    case 'moved': {
      const writes = what.hasWritten && AMBIGUOUS.has(what.code);
      return {
        takesMs,
        on: (asked) => ({
          writes: writes && (append(asked).writes ?? false),
          code: what.code,
        }),
      };
    }
  }
}

interface Told {
  readonly value: string;
  readonly partition: number;
  readonly state: string;
  readonly offset: number | undefined;
}

async function runPlan({ requests, calls, lingerMs, identities }: Plan) {
  const cluster = new ScriptedProduceCluster({ orders: [0, 1] });
  const logs = Array.from({ length: PARTITIONS }, () => new SequencedLog());
  cluster.script = (_, attempt) => stepOf(requests[attempt - 1], logs);
  cluster.identityScript = (attempt) => {
    const what = identities[attempt - 1];
    if (what === 'lost') return { fails: new ConnectionError('cut') };
    return what === 'none' ? { producerId: -1n } : {};
  };
  const producer = producerOn(cluster, { lingerMs });
  const sends: Promise<readonly Told[]>[] = [];
  const send = (name: string, planned: Call) => {
    const records = planned.partitions.map((partition, at) => ({
      topic: 'orders',
      partition,
      value: `${name}.${at}`,
    }));
    const resultsOf = (
      outcomes: readonly Partial<WrittenRecord & { readonly state: string }>[],
    ): readonly Told[] =>
      records.map(({ value, partition }, at) => ({
        value,
        partition,
        state: outcomes[at]?.state ?? 'written',
        offset: outcomes[at]?.offset,
      }));
    const abort = new AbortController();
    if (planned.abortsAfterMs !== undefined)
      cluster.runtime.setTimer(() => abort.abort(), planned.abortsAfterMs);
    const { timeoutMs } = planned;
    sends.push(
      producer
        .send(records, { timeoutMs, signal: abort.signal })
        .then(resultsOf, ({ outcomes }: SendError) => resultsOf(outcomes)),
    );
  };
  for (const [index, each] of calls.entries()) {
    if (each.afterMs > 0) await cluster.runtime.advance(each.afterMs);
    send(String(index), each);
  }
  await cluster.runtime.advance(200_000);
  const last: Call = { timeoutMs: 100_000, abortsAfterMs: undefined, partitions: [0, 1] };
  cluster.script = () => stepOf(undefined, logs);
  send('last', last);
  await cluster.runtime.advance(60_000);
  const results = (await Promise.all(sends)).flat();
  await producer.close();
  return { cluster, results };
}

describe('idempotent sends on a faulty network', () => {
  it('write each acknowledged record once and in order, and still succeed after the faults', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (planned) => {
        const { cluster, results } = await runPlan(planned);
        for (let partition = 0; partition < PARTITIONS; partition++) {
          const log = cluster.log('orders', partition);
          const ofPartition = results.filter((each) => each.partition === partition);
          // Every record occurs at most once, in the order of the calls, also records with an
          // unknown result.
          expect(log).toEqual(
            ofPartition.map(({ value }) => value).filter((value) => log.includes(value)),
          );
          for (const { value, state, offset } of ofPartition) {
            if (state === 'written') expect(log.includes(value)).toBe(true);
            if (state === 'written' && offset !== -1) expect(log[offset ?? -1]).toBe(value);
            if (state === 'not-written') expect(log.includes(value)).toBe(false);
          }
          expect(ofPartition.at(-1)).toMatchObject({
            value: `last.${partition}`,
            state: 'written',
          });
        }
        expect(cluster.runtime.pendingTimers).toBe(0);
      }),
      { numRuns: 200 },
    );
  }, 120_000);
});
