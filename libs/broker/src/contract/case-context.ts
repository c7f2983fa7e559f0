import assert from 'node:assert/strict';
import type { AdminSession } from '../port/admin.js';
import type { BrokerDriver } from '../port/driver.js';
import type { ProducerOptions, ProducerSession } from '../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../port/record.js';
import type { Runtime } from '../runtime/runtime.js';
import { sleep, within } from '../runtime/waiting.js';
import type {
  ContractAbilities,
  ContractAbility,
  ContractBroker,
  ContractFixture,
  ContractTimes,
} from './fixture.js';
import { Member, type MemberOptions } from './member.js';

type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/**
 * The objects of one test case: drivers, topics and groups of its own, and waits with a deadline.
 */
export class CaseContext {
  readonly #drivers: BrokerDriver[] = [];
  #admin: AdminSession | undefined;
  #producer: ProducerSession | undefined;

  private constructor(
    private readonly broker: ContractBroker,
    readonly fixture: ContractFixture,
    readonly times: ContractTimes,
    readonly driver: BrokerDriver,
  ) {
    this.#drivers.push(driver);
  }

  static async run(
    fixture: ContractFixture,
    times: ContractTimes,
    body: (context: CaseContext) => Promise<void>,
  ): Promise<void> {
    const broker = await fixture.open();
    try {
      const context = new CaseContext(broker, fixture, times, await broker.createDriver());
      await runWithCleanup(
        () => body(context),
        () => context.#close(),
      );
    } finally {
      await broker.close();
    }
  }

  get runtime(): Runtime {
    return this.broker.runtime;
  }

  /** Creates a driver that acts as another process on the same cluster. */
  async newProcess(): Promise<BrokerDriver> {
    const driver = await this.broker.createDriver();
    this.#drivers.push(driver);
    return driver;
  }

  ability<A extends ContractAbility>(name: A): ContractAbilities[A] {
    const ability = this.broker[name];
    if (!ability) throw new Error(`The fixture lists the ability "${name}" but does not have it.`);
    return ability.bind(this.broker) as ContractAbilities[A];
  }

  get admin(): AdminSession {
    return (this.#admin ??= this.driver.admin());
  }

  /** Returns a name that no other case uses. */
  name(kind: string): string {
    return `contract-${kind}-${this.runtime.uuid()}`;
  }

  async topic(partitions = 1, config: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = this.name('topic');
    await this.within(this.admin.createTopics([{ name, partitions, config }]), `topic ${name}`);
    return name;
  }

  /** Writes values, in order, to one partition. */
  write(
    topic: string,
    values: readonly (string | null)[],
    partition = 0,
  ): Promise<readonly WrittenRecord[]> {
    return this.send(values.map((value) => ({ topic, partition, value })));
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]> {
    this.#producer ??= this.driver.producer();
    return this.within(this.#producer.send(records), `${records.length} records to be written`);
  }

  producer(options: ProducerOptions = {}): ProducerSession {
    return this.driver.producer(options);
  }

  /** Creates a member that has not joined yet. */
  member({ driver = this.driver, groupId, topics, on, ...options }: MemberOptions): Member {
    const { sessionTimeoutMs, heartbeatIntervalMs, rebalanceTimeoutMs } = this.times;
    const session = driver.consumer({
      groupId: groupId ?? this.name('group'),
      topics,
      sessionTimeoutMs,
      heartbeatIntervalMs,
      rebalanceTimeoutMs,
      ...options,
    });
    return new Member(this, session, on ?? {});
  }

  async join(options: MemberOptions): Promise<Member> {
    const member = this.member(options);
    await member.start();
    return member;
  }

  /**
   * Returns the promise's result. After the deadline the case fails with a description, before the
   * test framework's own timeout.
   */
  within<T>(promise: Promise<T>, what: string, state: () => string = () => ''): Promise<T> {
    const { patienceMs } = this.times;
    const late = (): Error =>
      new Error(`Waited ${patienceMs} ms for ${what}. ${state()}`.trimEnd());
    return within(this.runtime, patienceMs, promise, late);
  }

  /** Waits until the condition is true. `state` is evaluated only for the error message. */
  async eventually(
    what: string,
    condition: () => boolean | Promise<boolean>,
    state: () => string = () => '',
  ): Promise<void> {
    const deadline = this.runtime.monotonic() + this.times.patienceMs;
    while (!(await this.within(Promise.resolve(condition()), what))) {
      if (this.runtime.monotonic() > deadline)
        throw new Error(`Waited ${this.times.patienceMs} ms until ${what}. ${state()}`.trimEnd());
      await sleep(this.runtime, 10);
    }
  }

  /** Returns the error if the promise rejects with one of this class; otherwise the case fails. */
  rejects<E extends Error>(
    promise: Promise<unknown>,
    kind: ErrorClass<E>,
    what = `a rejection with ${kind.name}`,
  ): Promise<E> {
    const expectation = this.within(this.failureOf(promise), what).then((error) => {
      if (error instanceof kind) return error;
      throw new Error(`Expected ${what}, got ${String(error)}.`, { cause: error });
    });
    // A case may fail before it awaits this promise.
    expectation.catch(() => undefined);
    return expectation;
  }

  /** Returns the rejection reason, whatever it is; undefined when the promise resolves. */
  failureOf(promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      () => undefined,
      (error: unknown) => error ?? new Error('It rejected with nothing.'),
    );
  }

  async staysPending(promise: Promise<unknown>, what: string): Promise<void> {
    const settled = promise.then(
      () => true,
      () => true,
    );
    const quiet = sleep(this.runtime, this.times.quietMs).then(() => false);
    assert.equal(await Promise.race([settled, quiet]), false, `${what} ended too early`);
  }

  /** Waits, as a handler that takes time does. */
  work(durationMs: number): Promise<void> {
    return sleep(this.runtime, durationMs);
  }

  /** Lets pending callbacks and I/O run. */
  yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => this.runtime.defer(resolve));
  }

  async #close(): Promise<void> {
    const closings = this.#drivers.map((driver) =>
      this.within(driver.close(), `driver ${driver.name} to close`),
    );
    const failed = (await Promise.allSettled(closings)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason as Error;
  }
}

/** Runs the body and the cleanup; if both fail, the error contains both. */
async function runWithCleanup(body: () => Promise<void>, end: () => Promise<void>): Promise<void> {
  const failures: Error[] = [];
  for (const step of [body, end])
    await step().catch((error: unknown) =>
      failures.push(error instanceof Error ? error : new Error(String(error))),
    );
  const [first] = failures;
  if (first && failures.length > 1)
    throw new AggregateError(failures, failures.map(({ message }) => message).join('\nand then: '));
  if (first) throw first;
}
