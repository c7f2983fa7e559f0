import type { ContractFixture, ContractTimes } from './fixture.js';
import type { TestFramework } from './test-framework.js';
import { reasonToSkip, type Requirement } from './requirement.js';
import { CaseContext } from './case-context.js';

export type Case = (context: CaseContext) => Promise<void>;

/** Registers a test case by its name. */
export type CaseRegistration = (name: string, run: Case) => void;

const DEFAULT_TIMES: ContractTimes = {
  sessionTimeoutMs: 1_000,
  heartbeatIntervalMs: 250,
  rebalanceTimeoutMs: 3_000,
  patienceMs: 15_000,
  quietMs: 150,
};

/** The number of cases that are started ahead of the running test, in multiples of `parallel`. */
const LOOKAHEAD = 3;

/**
 * Turns cases into tests. With `parallel` above 1, cases are started ahead of their tests: a case
 * on a real broker mostly waits, and frameworks run the tests of a file one after the other.
 */
export class ContractSuite {
  readonly #cases: LazyCase[] = [];
  #next = 0;
  #running = 0;
  readonly #times: ContractTimes;

  constructor(
    private readonly framework: TestFramework,
    private readonly fixture: ContractFixture,
  ) {
    this.#times = { ...DEFAULT_TIMES, ...fixture.times };
  }

  section(name: string, body: () => void): void {
    this.framework.describe(name, body);
  }

  /**
   * Registers a case with requirements; it is skipped with the reason in its name if one is not
   * met.
   */
  readonly requiring = (...requirements: Requirement[]): CaseRegistration => {
    const reason = reasonToSkip(requirements, this.fixture);
    return reason === undefined
      ? (name, run) => this.#register(name, run)
      : (name) => this.#skip(`${name} [skipped: ${reason}]`);
  };

  readonly testCase: CaseRegistration = (name, run) => this.#register(name, run);

  /**
   * Waits for cases that were started ahead although their tests never ran, as with a name filter.
   */
  async settle(): Promise<void> {
    await Promise.allSettled(
      this.#cases.filter(({ hasStarted }) => hasStarted).map((each) => each.result()),
    );
  }

  #register(name: string, run: Case): void {
    const index = this.#cases.length;
    const each = new LazyCase(() => CaseContext.run(this.fixture, this.#times, run));
    this.#cases.push(each);
    this.framework.it(name, () => {
      this.#next = Math.max(this.#next, index);
      if (!each.hasStarted) this.#start(each);
      this.#startAhead(index);
      return each.result();
    });
  }

  #startAhead(index: number): void {
    const { parallel = 1 } = this.fixture;
    const horizon = Math.min(this.#cases.length, index + parallel * LOOKAHEAD);
    for (; this.#next < horizon && this.#running < parallel; this.#next++) {
      const each = this.#cases[this.#next];
      if (each && !each.hasStarted) this.#start(each, () => this.#startAhead(index));
    }
  }

  #start(each: LazyCase, onEnded: () => void = () => undefined): void {
    this.#running++;
    const ended = (): void => {
      this.#running--;
      onEnded();
    };
    each.result().then(ended, ended);
  }

  #skip(name: string): void {
    const nothing = (): Promise<void> => Promise.resolve();
    const { it } = this.framework;
    if (it.skip) it.skip(name, nothing);
    else it(name, nothing);
  }
}

class LazyCase {
  #result: Promise<void> | undefined;

  constructor(private readonly run: () => Promise<void>) {}

  get hasStarted(): boolean {
    return this.#result !== undefined;
  }

  result(): Promise<void> {
    if (!this.#result) {
      this.#result = this.run();
      // The test of the case awaits this promise later; until then a rejection must not count as
      // unhandled.
      this.#result.catch(() => undefined);
    }
    return this.#result;
  }
}
