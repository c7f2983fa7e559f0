import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import fc from 'fast-check';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import { NonRetryableException } from '../../src/errors/retry-errors.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import type { IdempotencyStore } from '../../src/model/extension-points/idempotency-store.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const FAILING = ['buggy', 'varying', 'bad', 'given-up'] as const;
/** Records of these kinds must not be dead-lettered unless something else is wrong. */
const HARMLESS = ['fine', 'handed-back'] as const;
const KINDS = [...HARMLESS, ...FAILING, 'dependency', 'fails-twice', 'unavailable'] as const;
type Kind = (typeof KINDS)[number];

const STEPS = [
  'write',
  'advance',
  'refuse',
  'lose-requests',
  'lift',
  'outage',
  'end-outage',
  'store',
  'command',
] as const;
const COMMANDS = ['pause', 'resume', 'stop', 'start'] as const;
const TOPICS = ['orders.retry-1', 'orders.retry-2', 'orders.DLT'] as const;

interface Step {
  readonly what: (typeof STEPS)[number];
  readonly kinds: readonly Kind[];
  readonly pick: number;
  readonly isAwaited: boolean;
}

interface Shape {
  readonly isBatch: boolean;
  readonly hasStore: boolean;
  readonly hasBreaker: boolean;
  readonly properties: object;
}

let testBus: TestBus;
let isOutage: boolean;
let isStoreDown: boolean;
let calls: Map<string, number>;
let done: Map<string, number>;

const kindOf = (value: string): string => value.slice(value.indexOf(' ') + 1);
const increment = (counts: Map<string, number>, key: string): number => {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
};

async function handleValue(value: string, context: EventContext): Promise<void> {
  const call = increment(calls, value);
  if (call % 2 === 1) await sleep(testBus.runtime, (value.length * call * 37) % 300);
  switch (kindOf(value) as Kind) {
    case 'buggy':
      throw new Error('a bug');
    case 'varying':
      throw new Error(`bug number ${call}`);
    case 'bad':
      throw new NonRetryableException('never');
    case 'given-up':
      return context.deadLetter('rejected');
    case 'unavailable':
      if (call === 1) throw Object.assign(new Error('503'), { status: 503 });
      break;
    case 'dependency':
      if (isOutage) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
      break;
    case 'fails-twice':
      if (call <= 2) throw new Error('not yet');
      break;
    case 'handed-back':
      if (call <= 2) return context.handBack({ delayMs: 400 });
      break;
    case 'fine':
  }
  increment(done, value);
}

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ value }: EventRecord<string>, context: EventContext): Promise<void> {
    await handleValue(value, context);
  }
}

@Injectable()
class Batches {
  @EventHandler.Batch('orders')
  async handle(
    records: readonly EventRecord<string>[],
    contexts: readonly EventContext[],
  ): Promise<void> {
    for (const [index, { value }] of records.entries())
      await handleValue(value, contexts[index]!).catch((cause: Error) => {
        throw new BatchProcessingException(index, 'one of a batch', [], { cause });
      });
  }
}

/** Returns an in-memory store that is sometimes unavailable. */
function unreliableStore(): IdempotencyStore {
  const store = memoryIdempotencyStore({ runtime: testBus.runtime });
  const orDown =
    <A extends unknown[], R>(ask: (...given: A) => R) =>
    (...given: A): R => {
      if (isStoreDown) throw new Error('the store is down');
      return ask(...given);
    };
  return {
    claim: orDown((...given) => store.claim(...given)),
    complete: orDown((...given) => store.complete(...given)),
    release: orDown((...given) => store.release(...given)),
  };
}

/** Runs one application with retry tiers through writes, outages, refusals and commands, then without disturbances. */
class BindingHistory {
  readonly #written: string[] = [];
  readonly #faults: { lift(): void }[] = [];
  #isDisturbed = false;

  constructor(
    private readonly application: INestApplicationContext,
    private readonly shape: Shape,
  ) {}

  async apply({ what, kinds, pick, isAwaited }: Step): Promise<void> {
    const { faults } = testBus.broker;
    const topic = TOPICS[pick % TOPICS.length] as string;
    switch (what) {
      case 'write':
        return this.#write(kinds, pick);
      case 'advance':
        return testBus.runtime.advance(pick * 100);
      case 'refuse':
        this.#faults.push(
          faults.refuse({ operation: 'produce', topic }, 'TOPIC_AUTHORIZATION_FAILED'),
        );
        return;
      case 'lose-requests':
        this.#isDisturbed = true;
        this.#faults.push(faults.loseRequests({ operation: 'produce', topic }));
        return;
      case 'lift':
        return this.#lift();
      case 'outage':
        isOutage = true;
        return;
      case 'end-outage':
        isOutage = false;
        return;
      case 'store':
        isStoreDown = !isStoreDown;
        return;
      case 'command': {
        const command = COMMANDS[pick % COMMANDS.length]!;
        if (command === 'stop') this.#isDisturbed = true;
        const ended = this.#command(command);
        if (isAwaited) await testBus.done(ended);
      }
    }
  }

  /** Removes all faults and advances until everything is finished. */
  async end(): Promise<void> {
    this.#lift();
    [isOutage, isStoreDown] = [false, false];
    await testBus.runtime.advance(60_000);
    await testBus.done(this.#command('resume'));
    await testBus.done(this.#command('start'));
    // New successful records close an open circuit, so that the records waiting for it are handled.
    for (let round = 0; round < 2; round++) {
      await this.#write(
        Array.from({ length: 6 }, () => 'fine'),
        round,
      );
      await testBus.runtime.advance(15 * 60_000);
    }
  }

  async findViolations(): Promise<readonly string[]> {
    const letters = (await testBus.records('orders.DLT')).map(
      ({ value }) => `${JSON.parse(String(value))}`,
    );
    const violations = this.#written.flatMap((value) => {
      const dead = letters.filter((letter) => letter === value).length;
      return this.#violationsOf(value, done.get(value) ?? 0, dead);
    });
    const { mainContainer, retryTierContainers } = this.application
      .get(ContainerRegistry)
      .require('orders');
    for (const { id, counts } of [mainContainer, ...retryTierContainers]) {
      const { received, inFlight, slicesCut, membershipsGivenUp, ...ends } = counts;
      const sum = Object.values(ends).reduce((all, count) => all + count, 0);
      if (sum !== received || inFlight !== 0)
        violations.push(`${id} counts ${JSON.stringify(counts)}`);
      if (slicesCut + membershipsGivenUp > 0) violations.push(`${id} took too long`);
    }
    for (const partition of [0, 1]) {
      const [committed, end] = [
        await testBus.committed('shop', partition),
        await this.#end(partition),
      ];
      if (committed !== end)
        violations.push(`partition ${partition} is committed up to ${committed} of ${end}`);
    }
    return violations;
  }

  #violationsOf(value: string, good: number, dead: number): readonly string[] {
    const { isBatch, hasStore, hasBreaker } = this.shape;
    const ended = `done ${good} times, dead-lettered ${dead} times`;
    const isFailing = FAILING.some((kind) => kind === kindOf(value));
    const isHarmless = HARMLESS.some((kind) => kind === kindOf(value));
    const wrong = [
      good + dead === 0,
      isFailing && (good > 0 || dead === 0),
      isHarmless && dead > 0 && !hasBreaker && !isBatch,
      // A batch is delivered again as a whole, and an interrupted delivery is repeated.
      good + dead > 1 && !isBatch && !this.#isDisturbed,
      good > 1 && !isBatch && hasStore,
    ];
    return wrong.some(Boolean) ? [`${value}: ${ended}`] : [];
  }

  async #write(kinds: readonly Kind[], pick: number): Promise<void> {
    for (const [index, kind] of kinds.entries()) {
      const value = `${this.#written.length} ${kind}`;
      this.#written.push(value);
      const key = ['a', 'b', 'c', null][(pick + index) % 4];
      const partition = (pick + index) % 2;
      await testBus.write('orders', { partition, key, value: JSON.stringify(value) });
    }
  }

  #command(command: (typeof COMMANDS)[number]): Promise<unknown> {
    const connector = this.application.get(EventBusConnector);
    return connector[command]('orders').catch(() => undefined);
  }

  #lift(): void {
    for (const fault of this.#faults.splice(0)) fault.lift();
  }

  async #end(partition: number): Promise<number | undefined> {
    const marks = await testBus.done(testBus.outside.admin().watermarks('orders'));
    return marks.find((each) => each.partition === partition)?.high;
  }
}

const singles = fc.record({
  processing: fc.constantFrom<object>(
    { by: 'partition' },
    { by: 'key', maxConcurrency: 2 },
    { by: 'key', maxConcurrency: 10 },
    { by: 'none', maxConcurrency: 5 },
  ),
});

const batches = fc.record({
  batchFailureStrategy: fc.constantFrom('SEEK_TO_FAILED', 'DLQ_AND_CONTINUE'),
  batchRedeliveries: fc.constantFrom(1, 3),
});

const shapes = (isBatch: boolean): fc.Arbitrary<Shape> =>
  fc
    .record({
      hasStore: fc.boolean(),
      hasBreaker: fc.boolean(),
      own: isBatch ? batches : singles,
      common: fc.record({
        ackMode: fc.constantFrom('MANUAL', 'MANUAL_IMMEDIATE'),
        concurrency: fc.constantFrom(1, 2),
        maxPollRecords: fc.constantFrom(3, 50),
        dlt: fc.constant({ publishTimeoutMs: 3_000 }),
        retry: fc.record({
          mode: fc.constantFrom('in-line', 'seek'),
          tier0: fc.record({
            maxAttempts: fc.constantFrom(1, 2, 3),
            initialBackoffMs: fc.constant(100),
          }),
          tiers: fc.constantFrom<object[]>(
            [],
            [{ delayMs: 1_000, maxAttempts: 2 }],
            [
              { delayMs: 500, maxAttempts: 1 },
              { delayMs: 3_000, maxAttempts: 2 },
            ],
          ),
        }),
      }),
    })
    .map(({ own, common, ...rest }) => ({ ...rest, isBatch, properties: { ...common, ...own } }));

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom(...STEPS, 'write', 'write', 'advance', 'advance'),
    kinds: fc.array(fc.constantFrom(...KINDS, 'fine'), { minLength: 1, maxLength: 5 }),
    pick: fc.nat(79),
    isAwaited: fc.boolean(),
  }),
  { minLength: 20, maxLength: 60, size: 'max' },
);

const breaker = {
  enabled: true,
  slidingWindowSize: 8,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
  waitDurationInOpenStateMs: 2_000,
};

async function runHistory(shape: Shape, sequence: readonly Step[]): Promise<readonly string[]> {
  testBus = new TestBus();
  [isOutage, isStoreDown] = [false, false];
  [calls, done] = [new Map(), new Map()];
  try {
    for (const topic of ['orders', ...TOPICS]) await testBus.topic(topic, 2);
    const application = await testBus.startOrders([shape.isBatch ? Batches : Orders], {
      ...shape.properties,
      ...(shape.hasStore && { idempotency: { store: unreliableStore() } }),
      ...(shape.hasBreaker && { circuitBreaker: breaker }),
    });
    const history = new BindingHistory(application, shape);
    for (const step of sequence) await history.apply(step);
    await history.end();
    const { status } = testBus.health(application);
    const violations = await history.findViolations();
    return status === 'UP' ? violations : [`health is ${status}`, ...violations];
  } finally {
    await testBus.end();
  }
}

describe('Random histories of writes, outages, refusals and commands', () => {
  it.each([
    ['single records', false],
    ['batches', true],
  ] as const)(
    'complete or dead-letter every record of %s, dead-letter none without need, and count every record',
    async (_, isBatch) => {
      await fc.assert(
        fc.asyncProperty(shapes(isBatch), steps, async (shape, sequence) => {
          expect(await runHistory(shape, sequence)).toEqual([]);
        }),
        // Shrinking would take minutes.
        { numRuns: 40, endOnFailure: true },
      );
    },
    120_000,
  );
});
