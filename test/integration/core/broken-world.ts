import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry, LifecycleManager } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { OrdersStage } from './orders-stage.js';

export interface BrokenWorldReport {
  /** How many calls failed before the binding was held, and in all. */
  readonly failedAtOnce: number;
  readonly failed: number;
  /** How often a few records were tried. */
  readonly trials: number;
  /** Calls that began while the circuit was open, or the operator held the binding. */
  readonly unwanted: number;
  readonly recoveredAfterMs: number;
}

export const RECORDS = 3_000;
export const WINDOW = 10;
export const PERMITTED = 3;
export const PARTITIONS = 6;
const OPEN_MS = 500;

/**
 * A world that breaks under load and is whole again after a while. In the first third of that time
 * partitions come to the member whose circuit is open; in the last one its operator holds it.
 */
export class BrokenWorld {
  readonly #stage: OrdersStage;
  readonly #done: string[] = [];
  #isDown = false;
  #isHeld = false;
  #failed = 0;
  #unwanted = 0;

  constructor(
    private readonly brokers: readonly string[],
    private readonly downMs: number,
  ) {
    this.#stage = new OrdersStage(brokers);
  }

  async run(): Promise<BrokenWorldReport> {
    const other = kafkajs({ brokers: this.brokers });
    try {
      return await this.#run(other);
    } finally {
      await other.close();
      await this.#stage.end();
    }
  }

  async #run(other: ReturnType<typeof kafkajs>): Promise<BrokenWorldReport> {
    const { topic, groupId } = this.#stage;
    await this.#stage.createTopics({ partitions: PARTITIONS });
    // It has its partitions and never reads them.
    const idle = other.consumer({
      groupId,
      topics: [topic],
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 300,
    });
    await idle.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing });
    const application = await this.#start();
    const { mainContainer, circuitBreaker } = registrationOf(application);
    const breaker = circuitBreaker.current!;
    let trials = 0;
    breaker.onTransition(({ to }) => void (trials += to === 'HALF_OPEN' ? 1 : 0));
    this.#stage.handle = ({ partition, offset }) =>
      this.#work(`${partition}/${offset}`, () => breaker.state === 'OPEN');
    await this.#stage.until('the members to share', () => {
      const own = mainContainer.status.assignment.length;
      return own > 0 && own + idle.assignment().length === PARTITIONS && own < PARTITIONS;
    });
    await this.#write();
    await this.#stage.until('records to be handled', () => this.#done.length > 100);

    this.#isDown = true;
    await this.#isPaused(application, 'circuit');
    const failedAtOnce = this.#failed;
    const before = await this.#members(idle.memberId);
    await idle.close();
    await this.#stage.until(
      'all partitions to come to it',
      () => mainContainer.status.assignment.length === PARTITIONS,
    );
    await sleep(realRuntime, (this.downMs * 2) / 3);
    await this.#held(application);

    const since = realRuntime.monotonic();
    // Nobody writes any more: it recovers by itself.
    await this.#stage.until('all to be committed', async () => {
      return (await this.#stage.committed()) === RECORDS;
    });
    const recoveredAfterMs = realRuntime.monotonic() - since;
    expect(await this.#members(idle.memberId)).toEqual(before);
    expect([this.#done.length, new Set(this.#done).size]).toEqual([RECORDS, RECORDS]);
    expect(await this.#stage.letters()).toEqual([]);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING', pauses: [] });
    return {
      failedAtOnce,
      failed: this.#failed,
      trials,
      unwanted: this.#unwanted,
      recoveredAfterMs,
    };
  }

  /** Whether the circuit would let records through or not. */
  async #held(application: INestApplicationContext): Promise<void> {
    const lifecycle = application.get(LifecycleManager);
    // `pause` wants a binding that runs; the circuit may hold this one, too.
    await lifecycle.addPause('orders', 'operator');
    this.#isHeld = true;
    await sleep(realRuntime, this.downMs / 3);
    this.#isDown = false;
    await this.#stage.until('the circuit to wait for records', () => {
      return registrationOf(application).circuitBreaker.current?.state === 'HALF_OPEN';
    });
    await sleep(realRuntime, 2 * OPEN_MS);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['operator'] });
    this.#isHeld = false;
    await lifecycle.resume('orders');
  }

  async #work(place: string, isOpen: () => boolean): Promise<void> {
    if (this.#isHeld || isOpen()) this.#unwanted++;
    await sleep(realRuntime, 1);
    if (!this.#isDown) return void this.#done.push(place);
    this.#failed++;
    throw Object.assign(new Error('the database is down'), { code: 'ECONNREFUSED' });
  }

  #start(): Promise<INestApplicationContext> {
    return this.#stage.start({
      concurrency: 2,
      sessionTimeoutMs: '6s',
      retry: { tiers: [], tier0: { maxAttempts: 1 } },
      circuitBreaker: {
        enabled: true,
        slidingWindowSize: WINDOW,
        minimumNumberOfCalls: WINDOW,
        permittedNumberOfCallsInHalfOpenState: PERMITTED,
        waitDurationInOpenStateMs: OPEN_MS,
      },
    });
  }

  async #write(): Promise<void> {
    const values = Array.from({ length: RECORDS / PARTITIONS }, (_, index) => String(index));
    for (let partition = 0; partition < PARTITIONS; partition++)
      await this.#stage.writeTo(partition, ...values);
  }

  #isPaused(application: INestApplicationContext, reason: 'circuit'): Promise<unknown> {
    return this.#stage.until('the circuit to hold the binding', () =>
      registrationOf(application).pauses.includes(reason),
    );
  }

  async #members(but: string): Promise<readonly string[]> {
    return (await this.#stage.members()).filter((memberId) => memberId !== but);
  }
}

const nothing = (): void => undefined;

function registrationOf(application: INestApplicationContext) {
  return application.get(ContainerRegistry).require('orders');
}

/** Ten calls open it, and each time it is half open a few more fail. */
export function expectProtected({
  failedAtOnce,
  failed,
  trials,
  unwanted,
}: BrokenWorldReport): void {
  expect(failedAtOnce).toBeLessThanOrEqual(WINDOW + PARTITIONS);
  expect(failed).toBeLessThanOrEqual(WINDOW + PARTITIONS + trials * PERMITTED);
  expect(trials).toBeGreaterThan(1);
  expect(unwanted).toBe(0);
}
