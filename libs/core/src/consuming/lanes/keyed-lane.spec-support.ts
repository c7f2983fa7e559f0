import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { decodeMetadata } from '../commits/commit-metadata-format.js';
import {
  type Handle,
  type SessionUnderTest,
  type SessionUnderTestOptions,
  ConsumingTestBed,
  upTo,
} from '../session/consuming-test-bed.spec-support.js';
import type { ConsumingSettings } from '../session/consuming-session.js';

export const failed = (rest: object = {}): Outcome => ({
  kind: 'failed',
  reason: 'redeliver',
  attempts: 1,
  error: new Error('no'),
  ...rest,
});

/** Difference between the numbers of running records in two partitions. */
export const PARTITION = 1_000;

/** Records with these keys in one partition, and handlers that the test ends. */
export class Keys {
  readonly begun: number[] = [];
  readonly #running = new Map<number, Deferred<Outcome>>();
  most = 0;

  constructor(
    readonly testBed: ConsumingTestBed,
    /** Outcomes of the handlers. Without it, the test ends each handler. */
    readonly answer: (delivery: Delivery) => Outcome | Promise<Outcome> | undefined,
  ) {}

  static async of(
    keys: readonly (string | null)[],
    answer: (delivery: Delivery) => Outcome | Promise<Outcome> | undefined = () => undefined,
  ): Promise<Keys> {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.writeKeys(keys);
    return new Keys(testBed, answer);
  }

  start(
    settings: Partial<ConsumingSettings> = {},
    options: SessionUnderTestOptions = {},
  ): Promise<SessionUnderTest> {
    const processing = { by: 'key', maxConcurrency: 8 } as const;
    return this.testBed.started(this.handle, { ...options, settings: { processing, ...settings } });
  }

  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  /**
   * Returns the offsets that are completed beyond the committed one, according to the commit
   * metadata.
   */
  async doneBeyondGap(): Promise<readonly number[]> {
    const { offset = 0, metadata = null } = (await this.testBed.commitOf()) ?? {};
    const runs = decodeMetadata({ partition: 0, offset }, metadata)?.ranges ?? [];
    return runs.flatMap(({ from, to }) => upTo(to - from, from));
  }

  async end(offset: number, outcome: Outcome = succeeded): Promise<void> {
    this.#running.get(offset)?.resolve(outcome);
    this.#running.delete(offset);
    await this.testBed.runtime.settle();
  }

  async endAll(): Promise<void> {
    while (this.#running.size > 0) for (const offset of this.running) await this.end(offset);
  }

  readonly handle: Handle = (delivery) => {
    const { partition, offset } = delivery.record;
    this.begun.push(offset);
    const answer = this.answer(delivery);
    if (answer) return answer;
    const ended = new Deferred<Outcome>();
    this.#running.set(partition * PARTITION + offset, ended);
    this.most = Math.max(this.most, this.#running.size);
    return ended.promise;
  };
}
