import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  aDelivery,
  aFailure,
  aRememberedFailure,
  type GivenDelivery,
} from '../../model/outcomes/outcomes.spec-support.js';
import {
  handedBack,
  succeeded,
  type Outcome,
  type RecordProcessor,
} from '../../model/outcomes/outcome.js';
import { routed } from './routed-processor.js';
import { recordOf } from '../report/failure-report-samples.spec-support.js';
import type { RetryTopicFilter } from '../retry-topics/retry-topic-filter.js';

const bad = aFailure({ reason: 'retry-exhausted', error: new Error('bad') });
const retried: Outcome = { kind: 'retried', tier: 1, delivery: 1 };
const lettered: Outcome = { kind: 'dead-lettered', reason: 'MANUAL', cause: 'operator' };

let handled: number[];
let routes: number[];

const router = {
  route: async ({ record }: Delivery): Promise<Outcome> => {
    routes.push(record.offset);
    return record.offset >= 90 ? bad : retried;
  },
  routeWithoutCall: async ({ record, history }: Delivery): Promise<Outcome> => {
    if (history.decision) return lettered;
    routes.push(record.offset);
    return record.offset >= 90 ? bad : retried;
  },
};

const entrance = {
  isForeign: ({ partition }: BrokerRecord) => partition === 99,
  dueAt: ({ offset }: BrokerRecord) => offset * 1_000,
} as RetryTopicFilter;

const delivery = (offset: number, given: GivenDelivery = {}, partition = 0): Delivery =>
  aDelivery({ record: recordOf({ offset, partition }), ...given });

const pendingWrite = {
  destination: { kind: 'retry', tier: 1, topic: 'orders.retry-1', delivery: 1 },
  report: aRememberedFailure(),
} as const;

beforeEach(() => {
  handled = [];
  routes = [];
});

describe('One record after the other', () => {
  const processor = (answer: (delivery: Delivery) => Outcome | Promise<Outcome>) =>
    routed({
      inner: {
        process: (each) => {
          handled.push(each.record.offset);
          return answer(each);
        },
      },
      router,
      entrance,
    });

  it('a success passes, without a promise where there was none', () => {
    expect(processor(() => succeeded).process(delivery(1))).toBe(succeeded);
    expect(routes).toEqual([]);
  });

  it('a failure is seen to, whether it comes at once or later', async () => {
    expect(await processor(() => bad).process(delivery(1))).toBe(retried);
    expect(await processor(async () => bad).process(delivery(2))).toBe(retried);
    expect(routes).toEqual([1, 2]);
  });

  it('what was handed back stays so', async () => {
    expect(await processor(async () => handedBack).process(delivery(1))).toBe(handedBack);
  });

  it('a foreign record is passed over', () => {
    const outcome = processor(() => succeeded).process(delivery(1, {}, 99));
    expect(outcome).toEqual({ kind: 'discarded', reason: 'foreign' });
    expect(handled).toEqual([]);
  });

  it('one that could not be written is seen to again without its handler', async () => {
    expect(
      await processor(() => succeeded).process(delivery(1, { history: { pendingWrite } })),
    ).toBe(retried);
    expect([handled, routes]).toEqual([[], [1]]);
  });

  it('one that was decided about does not reach its handler', async () => {
    const decided = delivery(1, { history: { decision: 'dead-letter', pendingWrite } });
    expect(await processor(() => succeeded).process(decided)).toBe(lettered);
    expect(handled).toEqual([]);
  });

  it('is due when its tier says so', () => {
    expect(processor(() => succeeded).dueAt?.(recordOf({ offset: 5 }))).toBe(5_000);
    expect(routed({ inner: { process: () => succeeded }, router }).dueAt).toBeUndefined();
  });
});

describe('A slice', () => {
  class Slices implements RecordProcessor {
    readonly seen: number[][] = [];
    process = (): Outcome => succeeded;
    constructor(private readonly answer: (offset: number) => Outcome) {}

    async processSlice(slice: readonly Delivery[]): Promise<readonly Outcome[]> {
      const offsets = slice.map(({ record }) => record.offset);
      this.seen.push(offsets);
      const outcomes = offsets.map((offset) => this.answer(offset));
      const end = outcomes.findIndex(({ kind }) => kind === 'failed');
      return outcomes.map((outcome, index) => (end === -1 || index <= end ? outcome : handedBack));
    }
  }

  const run = async (inner: RecordProcessor, slice: readonly Delivery[]) =>
    routed({ inner, router, entrance }).processSlice!(slice);

  /** Stretch by stretch, as the lane asks for it. */
  const stretchesOf = async (inner: RecordProcessor, slice: readonly Delivery[]) => {
    const stretches: (readonly Outcome[])[] = [];
    for (let rest = slice; rest.length > 0; rest = rest.slice(stretches.at(-1)!.length))
      stretches.push(await run(inner, rest));
    return stretches.map((stretch) => stretch.map(({ kind }) => kind));
  };

  it('passes as a whole', async () => {
    const inner = new Slices(() => succeeded);
    expect(
      await run(
        inner,
        [1, 2, 3].map((offset) => delivery(offset)),
      ),
    ).toEqual([succeeded, succeeded, succeeded]);
    expect(inner.seen).toEqual([[1, 2, 3]]);
  });

  it('is not given back behind a record that has left', async () => {
    const inner = new Slices((offset) => (offset === 2 ? bad : succeeded));
    const slice = [1, 2, 3, 4].map((offset) => delivery(offset));
    expect(await run(inner, slice)).toEqual([succeeded, retried]);
    expect(await run(inner, slice.slice(2))).toEqual([succeeded, succeeded]);
  });

  it.each<[string, Outcome]>([
    ['somebody wants to wait for', { kind: 'handed-back', delayMs: 50 }],
    ['has failed and stays', bad],
  ])('ends behind it at one that %s', async (_, staying) => {
    const answers = [bad, handedBack, staying, handedBack];
    const inner = { process: () => succeeded, processSlice: () => answers };
    const slice = [1, 2, 90, 3].map((offset) => delivery(offset));
    expect(await run(inner, slice)).toEqual([retried, handedBack, staying, handedBack]);
  });

  it('ends at a failure that is given back instead of being written', async () => {
    const inner = { process: () => succeeded, processSlice: () => [succeeded, bad, handedBack] };
    const giving = { ...router, route: async () => handedBack };
    const slice = [1, 2, 3].map((offset) => delivery(offset));
    const outcomes = await routed({ inner, router: giving }).processSlice!(slice);
    expect(outcomes).toEqual([succeeded, handedBack, handedBack]);
  });

  it('in which nothing has failed waits as whoever gave it back does', async () => {
    const answers = [succeeded, handedBack, handedBack];
    const inner = { process: () => succeeded, processSlice: () => answers };
    const slice = [1, 2, 3].map((offset) => delivery(offset));
    expect(await run(inner, slice)).toEqual(answers);
  });

  it('ends at a record that stays', async () => {
    const inner = new Slices((offset) => (offset === 91 ? bad : succeeded));
    const slice = [90, 91, 92].map((offset) => delivery(offset));
    expect(await run(inner, slice)).toEqual([succeeded, bad, handedBack]);
  });

  it('keeps from its handler what that is not to see', async () => {
    const inner = new Slices(() => succeeded);
    const slice = [
      delivery(1),
      delivery(2, {}, 99),
      delivery(3, { history: { pendingWrite } }),
      delivery(4),
      delivery(5),
      delivery(95, { history: { pendingWrite } }),
      delivery(96),
    ];
    expect(await stretchesOf(inner, slice)).toEqual([
      ['succeeded'],
      ['discarded'],
      ['retried'],
      ['succeeded', 'succeeded'],
      ['failed'],
      ['succeeded'],
    ]);
    expect(inner.seen).toEqual([[1], [4, 5], [96]]);
  });

  it('of which only the first were handled is not given back', async () => {
    const inner = {
      process: () => succeeded,
      processSlice: ([first]: readonly Delivery[]) => [
        first!.record.offset === 1 ? bad : succeeded,
      ],
    };
    const slice = [1, 2, 3].map((offset) => delivery(offset));
    expect(await stretchesOf(inner, slice)).toEqual([['retried'], ['succeeded'], ['succeeded']]);
  });

  it('of which none was handled has no outcomes', async () => {
    const inner = { process: () => succeeded, processSlice: () => [] };
    expect(await run(inner, [delivery(1), delivery(2)])).toEqual([]);
  });
});
