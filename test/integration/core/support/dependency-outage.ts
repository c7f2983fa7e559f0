import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry, type CircuitTransition } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { OrdersTestBus } from './orders-test-bus.js';

export interface DependencyOutageSettings {
  readonly brokers: readonly string[];
  readonly downMs: number;
  /** How long the circuit stays open before it permits trial calls. */
  readonly openMs: number;
  /** Records per partition in each round, before, during and after the outage. */
  readonly recordsPerRound: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** Time limit for the backlog after the outage. */
  readonly catchUpTimeoutMs: number;
}

export interface DependencyOutageReport {
  readonly written: number;
  readonly handled: readonly unknown[];
  /** Calls that failed, all because of the outage. */
  readonly failedCalls: number;
  /** Calls that started while the circuit had paused the binding. */
  readonly callsWhileOpen: number;
  readonly transitions: readonly CircuitTransition[];
  /** Records in the retry topics and the dead-letter topic. */
  readonly rerouted: number;
  readonly committed: number;
  readonly health: string;
  readonly recoveredAfterMs: number;
}

const PARTITIONS = 6;
const SESSIONS = 3;
const TIERS = 2;
/** Trial calls of each half-open phase. */
const PERMITTED_CALLS = 3;

/** A handler whose database is unavailable for a while, on a topic under constant load. */
export class DependencyOutage {
  readonly #testBus: OrdersTestBus;
  readonly #handled: unknown[] = [];
  readonly #transitions: CircuitTransition[] = [];
  #isDown = false;
  #failedCalls = 0;

  constructor(private readonly settings: DependencyOutageSettings) {
    this.#testBus = new OrdersTestBus(settings.brokers);
    this.#testBus.handle = async ({ value }) => {
      await sleep(realRuntime, 1);
      if (!this.#isDown) return void this.#handled.push(value);
      this.#failedCalls += 1;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
  }

  async run(): Promise<DependencyOutageReport> {
    try {
      return await this.#run();
    } finally {
      await this.#testBus.end();
    }
  }

  async #run(): Promise<DependencyOutageReport> {
    const { downMs, rounds, recordsPerRound: recordsPerTurn, catchUpTimeoutMs } = this.settings;
    const written = rounds * recordsPerTurn * PARTITIONS;
    await this.#testBus.createTopics({ tiers: TIERS, partitions: PARTITIONS });
    const application = await this.#start();
    const registration = application.get(ContainerRegistry).require('orders');
    const breaker = registration.circuitBreaker.current!;
    breaker.onTransition((transition) => this.#transitions.push(transition));
    const isPaused = () =>
      application.get(ContainerRegistry).require('orders').pauses.includes('circuit');

    const writing = this.#write();
    await this.#testBus.until('records to be handled', () => this.#handled.length > 100);
    this.#isDown = true;
    await this.#testBus.until('the circuit to hold the binding', isPaused);
    const failedBefore = this.#failedCalls;
    await sleep(realRuntime, downMs);
    const callsWhileOpen = this.#failedCalls - failedBefore;
    this.#isDown = false;
    const recoveredAt = realRuntime.monotonic();

    await writing;
    const until = (what: string, condition: () => boolean | Promise<boolean>) =>
      this.#testBus.until(what, condition, catchUpTimeoutMs);
    await until('the circuit to close', () => breaker.state === 'CLOSED');
    await until('all to be handled', () => new Set(this.#handled).size >= written);
    const recoveredAfterMs = Math.round(realRuntime.monotonic() - recoveredAt);
    await until('all to be committed', async () => (await this.#testBus.committed()) >= written);
    await until('health to be UP', () => this.#testBus.health(application).status === 'UP');
    return {
      written,
      handled: this.#handled,
      failedCalls: this.#failedCalls,
      callsWhileOpen,
      transitions: this.#transitions,
      rerouted: await this.#rerouted(),
      committed: await this.#testBus.committed(),
      health: this.#testBus.health(application).status,
      recoveredAfterMs,
    };
  }

  #start(): Promise<INestApplicationContext> {
    return this.#testBus.start({
      concurrency: SESSIONS,
      retry: {
        tier0: { maxAttempts: 2, initialBackoffMs: 20 },
        tiers: [{ delayMs: 300 }, { delayMs: 600 }],
      },
      circuitBreaker: {
        enabled: true,
        slidingWindowSize: 10,
        minimumNumberOfCalls: 10,
        permittedNumberOfCallsInHalfOpenState: PERMITTED_CALLS,
        waitDurationInOpenStateMs: this.settings.openMs,
      },
    });
  }

  async #write(): Promise<void> {
    const { rounds, recordsPerRound: recordsPerTurn, roundMs } = this.settings;
    for (let round = 0; round < rounds; round++) {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const from = (round * PARTITIONS + partition) * recordsPerTurn;
        const numbers = Array.from({ length: recordsPerTurn }, (_, index) => from + index);
        await this.#testBus.writeTo(partition, ...numbers.map(String));
      }
      await sleep(realRuntime, roundMs);
    }
  }

  async #rerouted(): Promise<number> {
    const { deadLetterTopic } = this.#testBus;
    const tiers = Array.from({ length: TIERS }, (_, index) => this.#testBus.retryTopic(index + 1));
    const records = await Promise.all(
      [...tiers, deadLetterTopic].map((topic) => this.#testBus.records(topic)),
    );
    return records.flat().length;
  }
}

/** Expects an open circuit, no call while it was open, no record in other topics, and each record handled once. */
export function expectAllHandled(
  { written, handled, committed, rerouted, health, ...report }: DependencyOutageReport,
  { downMs, openMs }: DependencyOutageSettings,
): void {
  const opened = report.transitions.filter(({ to }) => to === 'OPEN').length;
  const halfOpenPhases = report.transitions.filter(({ to }) => to === 'HALF_OPEN').length;
  expect(opened).toBeGreaterThan(0);
  expect(halfOpenPhases).toBeGreaterThan(1);
  // A slow machine makes fewer half-open phases, never more.
  expect(halfOpenPhases).toBeLessThanOrEqual(downMs / openMs + 2);
  // A permitted trial call is made twice in memory. Calls that ran when the circuit opened may end after
  // that.
  const running = PARTITIONS * 2;
  expect(report.callsWhileOpen).toBeLessThanOrEqual(halfOpenPhases * PERMITTED_CALLS * 2 + running);
  expect(rerouted).toBe(0);
  expect(handled).toHaveLength(written);
  expect(new Set(handled).size).toBe(written);
  expect(committed).toBe(written);
  expect(health).toBe('UP');
}
