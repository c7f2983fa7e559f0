import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { ContainerRegistry, type CircuitTransition } from '@nest-event-bus/core';
import type { INestApplicationContext } from '@nestjs/common';
import { OrdersStage } from './orders-stage.js';

export interface DownDependencySettings {
  readonly brokers: readonly string[];
  readonly downMs: number;
  /** How long the circuit stays open before it lets a few calls pass. */
  readonly openMs: number;
  /** Written to each partition in each turn, before the outage, in it and after it. */
  readonly recordsPerTurn: number;
  readonly turns: number;
  readonly turnMs: number;
  /** For all that has piled up, once the dependency is back. */
  readonly patienceMs: number;
}

export interface DownDependencyReport {
  readonly written: number;
  readonly handled: readonly unknown[];
  /** Calls that failed, all of them because of the outage. */
  readonly failedCalls: number;
  /** Those while the circuit was already holding the binding. */
  readonly callsWhileOpen: number;
  readonly transitions: readonly CircuitTransition[];
  /** What went to the retry topics and the dead-letter topic. */
  readonly rerouted: number;
  readonly committed: number;
  readonly health: string;
  readonly recoveredAfterMs: number;
}

const PARTITIONS = 6;
const SESSIONS = 3;
const TIERS = 2;
/** Of each circuit that is half open. */
const PERMITTED_CALLS = 3;

/** A handler whose database is down for a while, on a topic that is written to all the time. */
export class DownDependency {
  readonly #stage: OrdersStage;
  readonly #handled: unknown[] = [];
  readonly #transitions: CircuitTransition[] = [];
  #isDown = false;
  #failedCalls = 0;

  constructor(private readonly settings: DownDependencySettings) {
    this.#stage = new OrdersStage(settings.brokers);
    this.#stage.handle = async ({ value }) => {
      await sleep(realRuntime, 1);
      if (!this.#isDown) return void this.#handled.push(value);
      this.#failedCalls += 1;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
  }

  async run(): Promise<DownDependencyReport> {
    try {
      return await this.#run();
    } finally {
      await this.#stage.end();
    }
  }

  async #run(): Promise<DownDependencyReport> {
    const { downMs, turns, recordsPerTurn, patienceMs } = this.settings;
    const written = turns * recordsPerTurn * PARTITIONS;
    await this.#stage.createTopics({ tiers: TIERS, partitions: PARTITIONS });
    const application = await this.#start();
    const registration = application.get(ContainerRegistry).require('orders');
    const breaker = registration.circuitBreaker.current!;
    breaker.onTransition((transition) => this.#transitions.push(transition));
    const isHeld = () =>
      application.get(ContainerRegistry).require('orders').pauses.includes('circuit');

    const writing = this.#write();
    await this.#stage.until('records to be handled', () => this.#handled.length > 100);
    this.#isDown = true;
    await this.#stage.until('the circuit to hold the binding', isHeld);
    const failedBefore = this.#failedCalls;
    await sleep(realRuntime, downMs);
    const callsWhileOpen = this.#failedCalls - failedBefore;
    this.#isDown = false;
    const isBackAt = realRuntime.monotonic();

    await writing;
    const until = (what: string, condition: () => boolean | Promise<boolean>) =>
      this.#stage.until(what, condition, patienceMs);
    await until('the circuit to close', () => breaker.state === 'CLOSED');
    await until('all to be handled', () => new Set(this.#handled).size >= written);
    const recoveredAfterMs = Math.round(realRuntime.monotonic() - isBackAt);
    await until('all to be committed', async () => (await this.#stage.committed()) >= written);
    await until('health to be UP', () => this.#stage.health(application).status === 'UP');
    return {
      written,
      handled: this.#handled,
      failedCalls: this.#failedCalls,
      callsWhileOpen,
      transitions: this.#transitions,
      rerouted: await this.#rerouted(),
      committed: await this.#stage.committed(),
      health: this.#stage.health(application).status,
      recoveredAfterMs,
    };
  }

  #start(): Promise<INestApplicationContext> {
    return this.#stage.start({
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
    const { turns, recordsPerTurn, turnMs } = this.settings;
    for (let turn = 0; turn < turns; turn++) {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const from = (turn * PARTITIONS + partition) * recordsPerTurn;
        const numbers = Array.from({ length: recordsPerTurn }, (_, index) => from + index);
        await this.#stage.writeTo(partition, ...numbers.map(String));
      }
      await sleep(realRuntime, turnMs);
    }
  }

  async #rerouted(): Promise<number> {
    const { deadLetterTopic } = this.#stage;
    const tiers = Array.from({ length: TIERS }, (_, index) => this.#stage.retryTopic(index + 1));
    const records = await Promise.all(
      [...tiers, deadLetterTopic].map((topic) => this.#stage.records(topic)),
    );
    return records.flat().length;
  }
}

/** The circuit opened and kept the calls off, nothing left its topic, and everything was handled once. */
export function expectCarriedThrough(
  { written, handled, committed, rerouted, health, ...report }: DownDependencyReport,
  { downMs, openMs }: DownDependencySettings,
): void {
  const opened = report.transitions.filter(({ to }) => to === 'OPEN').length;
  const probed = report.transitions.filter(({ to }) => to === 'HALF_OPEN').length;
  expect(opened).toBeGreaterThan(0);
  expect(probed).toBeGreaterThan(1);
  // Slow machines probe less often, none more often.
  expect(probed).toBeLessThanOrEqual(downMs / openMs + 2);
  // Each of the calls that a half-open circuit permits is made twice in memory.
  // What was at work when it opened may end after it.
  const atWork = PARTITIONS * 2;
  expect(report.callsWhileOpen).toBeLessThanOrEqual(probed * PERMITTED_CALLS * 2 + atWork);
  expect(rerouted).toBe(0);
  expect(handled).toHaveLength(written);
  expect(new Set(handled).size).toBe(written);
  expect(committed).toBe(written);
  expect(health).toBe('UP');
}
