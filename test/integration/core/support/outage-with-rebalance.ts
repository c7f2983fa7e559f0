import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry, LifecycleManager } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { OrdersTestBus } from './orders-test-bus.js';

export interface OutageWithRebalanceReport {
  /** Failed calls before the binding was paused. */
  readonly failedBeforePause: number;
  readonly failed: number;
  /** How often the half-open circuit made trial calls. */
  readonly halfOpenPhases: number;
  /** Calls that started while the circuit was open or the operator had paused the binding. */
  readonly callsWhilePaused: number;
  readonly recoveredAfterMs: number;
}

export const RECORDS = 3_000;
export const WINDOW = 10;
export const PERMITTED = 3;
export const PARTITIONS = 6;
const OPEN_MS = 500;

/**
 * An outage of a dependency under load. In its first third a rebalance gives the member with the open
 * circuit more partitions; in its last third an operator pauses the binding.
 */
export class OutageWithRebalance {
  readonly #testBus: OrdersTestBus;
  readonly #done: string[] = [];
  #isDown = false;
  #isPausedByOperator = false;
  #failed = 0;
  #callsWhilePaused = 0;

  constructor(
    private readonly brokers: readonly string[],
    private readonly downMs: number,
  ) {
    this.#testBus = new OrdersTestBus(brokers);
  }

  async run(): Promise<OutageWithRebalanceReport> {
    const other = kafkajs({ brokers: this.brokers });
    try {
      return await this.#run(other);
    } finally {
      await other.close();
      await this.#testBus.end();
    }
  }

  async #run(other: ReturnType<typeof kafkajs>): Promise<OutageWithRebalanceReport> {
    const { topic, groupId } = this.#testBus;
    await this.#testBus.createTopics({ partitions: PARTITIONS });
    // Owns partitions but never reads them.
    const idleMember = other.consumer({
      groupId,
      topics: [topic],
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 300,
    });
    await idleMember.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing });
    const application = await this.#start();
    const { mainContainer, circuitBreaker } = registrationOf(application);
    const breaker = circuitBreaker.current!;
    let trials = 0;
    breaker.onTransition(({ to }) => void (trials += to === 'HALF_OPEN' ? 1 : 0));
    this.#testBus.handle = ({ partition, offset }) =>
      this.#handle(`${partition}/${offset}`, () => breaker.state === 'OPEN');
    await this.#testBus.until('the members to share the partitions', () => {
      const own = mainContainer.status.assignment.length;
      return own > 0 && own + idleMember.assignment().length === PARTITIONS && own < PARTITIONS;
    });
    await this.#write();
    await this.#testBus.until('records to be handled', () => this.#done.length > 100);

    this.#isDown = true;
    await this.#isPaused(application, 'circuit');
    const failedBeforePause = this.#failed;
    const before = await this.#members(idleMember.memberId);
    await idleMember.close();
    await this.#testBus.until(
      'the application to own all partitions',
      () => mainContainer.status.assignment.length === PARTITIONS,
    );
    await sleep(realRuntime, (this.downMs * 2) / 3);
    await this.#pauseAsOperator(application);

    const since = realRuntime.monotonic();
    // Writing has ended, so the binding recovers without new records.
    await this.#testBus.until('all to be committed', async () => {
      return (await this.#testBus.committed()) === RECORDS;
    });
    const recoveredAfterMs = realRuntime.monotonic() - since;
    expect(await this.#members(idleMember.memberId)).toEqual(before);
    expect([this.#done.length, new Set(this.#done).size]).toEqual([RECORDS, RECORDS]);
    expect(await this.#testBus.letters()).toEqual([]);
    expect(registrationOf(application)).toMatchObject({ state: 'RUNNING', pauses: [] });
    return {
      failedBeforePause,
      failed: this.#failed,
      halfOpenPhases: trials,
      callsWhilePaused: this.#callsWhilePaused,
      recoveredAfterMs,
    };
  }

  /** Pauses the binding as an operator; ends the outage; resumes after the circuit is half open. */
  async #pauseAsOperator(application: INestApplicationContext): Promise<void> {
    const lifecycle = application.get(LifecycleManager);
    // `pause` requires state RUNNING, but the circuit may have paused the binding too.
    await lifecycle.addPause('orders', 'operator');
    this.#isPausedByOperator = true;
    await sleep(realRuntime, this.downMs / 3);
    this.#isDown = false;
    await this.#testBus.until('the circuit to wait for records', () => {
      return registrationOf(application).circuitBreaker.current?.state === 'HALF_OPEN';
    });
    await sleep(realRuntime, 2 * OPEN_MS);
    expect(registrationOf(application)).toMatchObject({ state: 'PAUSED', pauses: ['operator'] });
    this.#isPausedByOperator = false;
    await lifecycle.resume('orders');
  }

  async #handle(place: string, isOpen: () => boolean): Promise<void> {
    if (this.#isPausedByOperator || isOpen()) this.#callsWhilePaused++;
    await sleep(realRuntime, 1);
    if (!this.#isDown) return void this.#done.push(place);
    this.#failed++;
    throw Object.assign(new Error('the database is down'), { code: 'ECONNREFUSED' });
  }

  #start(): Promise<INestApplicationContext> {
    return this.#testBus.start({
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
      await this.#testBus.writeTo(partition, ...values);
  }

  #isPaused(application: INestApplicationContext, reason: 'circuit'): Promise<unknown> {
    return this.#testBus.until('the circuit to pause the binding', () =>
      registrationOf(application).pauses.includes(reason),
    );
  }

  async #members(but: string): Promise<readonly string[]> {
    return (await this.#testBus.members()).filter((memberId) => memberId !== but);
  }
}

const nothing = (): void => undefined;

function registrationOf(application: INestApplicationContext) {
  return application.get(ContainerRegistry).require('orders');
}

/** Ten calls open the circuit; each half-open phase adds a few failed calls. */
export function expectFewFailedCalls({
  failedBeforePause,
  failed,
  halfOpenPhases: trials,
  callsWhilePaused,
}: OutageWithRebalanceReport): void {
  expect(failedBeforePause).toBeLessThanOrEqual(WINDOW + PARTITIONS);
  expect(failed).toBeLessThanOrEqual(WINDOW + PARTITIONS + trials * PERMITTED);
  expect(trials).toBeGreaterThan(1);
  expect(callsWhilePaused).toBe(0);
}
