import type { BrokerDriver, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import type { Delivery } from '../model/delivery.js';
import { decodeMetadata } from './commit-metadata.js';
import type { Processing } from './intake.js';
import { type Outcome, succeeded } from '../model/outcome.js';
import type { PauseReason } from './pause-reason.js';
import {
  type IntakeUnderTest,
  IntakeWorld,
  reconciles,
  upTo,
} from './intake-world.spec-support.js';

const PARTITIONS = 4;
const RECORDS = 2_500;
const REASONS = ['operator', 'circuit', 'routing'] as const satisfies readonly PauseReason[];

/** What a partition holds, as its handlers and the broker know it. */
class Ledger {
  readonly #done = new Set<number>();
  /** What an acknowledged commit says is done. */
  readonly #recorded = new Set<number>();
  /** The first record that is not done. */
  low = 0;
  #committed = 0;

  finish(offset: number): void {
    this.#done.add(offset);
    while (this.#done.has(this.low)) this.low++;
  }

  isDone(offset: number): boolean {
    return this.#done.has(offset);
  }

  isRecorded(offset: number): boolean {
    return offset < this.#committed || this.#recorded.has(offset);
  }

  /** The broker has it. */
  record({ offset, metadata = null }: OffsetCommit): void {
    this.#committed = Math.max(this.#committed, offset);
    for (const each of beyond(offset, metadata)) this.#recorded.add(each);
  }

  /** What is wrong with a commit. */
  complaintAbout({ partition, offset, metadata = null }: OffsetCommit): string | undefined {
    if (offset > this.low) return `commit ${partition}:${offset} passes ${this.low}`;
    const wrong = beyond(offset, metadata).find((each) => !this.#done.has(each));
    return wrong === undefined ? undefined : `commit ${partition}:${offset} says ${wrong} is done`;
  }
}

function beyond(offset: number, metadata: string | null): readonly number[] {
  const runs = decodeMetadata(offset, metadata)?.runs ?? [];
  return runs.flatMap(({ from, to }) => upTo(to - from, from));
}

const KEYS = 15;
/** Of the records of every partition; some have none. */
const keyOf = (offset: number): string | null =>
  offset % 11 === 0 ? null : `${(offset * 7) % KEYS}`;

/** Members come and go, pause, lose their broker and fail, while somebody writes down every broken promise. */
class Life {
  readonly broken: string[] = [];
  readonly #ledgers = Array.from({ length: PARTITIONS }, () => new Ledger());
  readonly members: IntakeUnderTest[] = [];
  redelivered = 0;
  #made = 0;

  constructor(
    readonly world: IntakeWorld,
    private readonly by: Processing['by'],
  ) {}

  get missing(): number {
    return this.#ledgers.reduce((sum, { low }) => sum + RECORDS - low, 0);
  }

  add(ackMode: 'MANUAL' | 'MANUAL_IMMEDIATE'): void {
    const clientId = `member-${this.#made++}`;
    const member = this.world.intake((delivery) => this.#handle(member, delivery), {
      clientId,
      driver: this.#watching(memory({ broker: this.world.broker, clientId })),
      settings: {
        ackMode,
        processing: { by: this.by, maxConcurrency: 12 },
        strictCommits: this.#upTo(3) === 0,
        listenerType: this.by === 'partition' && this.#upTo(3) === 0 ? 'BATCH' : 'SINGLE',
        maxPollRecords: 20,
        rebalanceDrainTimeoutMs: 40,
        failureBackoff: { initialMs: 20, maxMs: 200 },
      },
      consumer: { sessionTimeoutMs: 1_000, heartbeatIntervalMs: 300, rebalanceTimeoutMs: 3_000 },
    });
    this.members.push(member);
    member.intake.start().catch(() => undefined);
  }

  async step(): Promise<void> {
    const { world } = this;
    const index = this.#upTo(this.members.length);
    const member = this.members[index] as IntakeUnderTest;
    const reason = REASONS[this.#upTo(REASONS.length)] as PauseReason;
    switch (this.#upTo(8)) {
      case 0:
      case 1:
        void member.intake.pause(reason);
        break;
      case 2:
        if (this.members.length < 4) this.add(this.#upTo(2) === 0 ? 'MANUAL' : 'MANUAL_IMMEDIATE');
        break;
      case 3:
        if (this.members.length > 1) {
          this.members.splice(index, 1);
          await world.done(member.intake.drain(this.#upTo(100)));
          await world.done(member.intake.close());
          this.#check(member);
        }
        break;
      case 4: {
        const fault = world.broker.faults.dropHeartbeats({ groupId: 'g' });
        await world.runtime.advance(this.#upTo(1_500));
        fault.lift();
        break;
      }
      case 5: {
        const operation = 'commit';
        const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
        world.broker.faults.refuse({ operation }, refusal, { times: 1 + this.#upTo(5) });
        break;
      }
      default:
        for (const each of REASONS) member.intake.resume(each);
    }
    await world.runtime.advance(this.#upTo(300));
    for (const each of this.members) this.#check(each);
  }

  resumeAll(): void {
    for (const { intake } of this.members) for (const each of REASONS) intake.resume(each);
  }

  #handle(member: IntakeUnderTest, delivery: Delivery): Outcome | Promise<Outcome> {
    const { partition, offset } = delivery.record;
    const ledger = this.#ledgers[partition] as Ledger;
    const before = this.#unfinishedBefore(ledger, offset);
    if (before !== undefined)
      this.broken.push(`${partition}:${offset} came before ${before} was done`);
    if (ledger.isRecorded(offset))
      this.broken.push(`${partition}:${offset} came again, although it is recorded as done`);
    if (delivery.redeliveries > 0) this.redelivered++;
    this.#check(member);
    const chance = this.world.runtime.random();
    if (chance < 0.01) return { kind: 'failed', error: new Error('no luck') };
    if (chance < 0.015) return { kind: 'handed-back', delayMs: this.#upTo(50) };
    if (chance > 0.05) return this.#finish(partition, offset);
    return new Promise((resolve) =>
      this.world.runtime.setTimer(
        () => resolve(this.#finish(partition, offset)),
        this.#upTo(chance > 0.048 ? 300 : 20),
      ),
    );
  }

  /** Of those that this record has to wait for. */
  #unfinishedBefore(ledger: Ledger, offset: number): number | undefined {
    const { low } = ledger;
    if (offset <= low || this.by === 'none') return undefined;
    if (this.by === 'partition') return low;
    const key = keyOf(offset);
    return upTo(offset - low, low).find((each) => keyOf(each) === key && !ledger.isDone(each));
  }

  #finish(partition: number, offset: number): Outcome {
    this.#ledgers[partition]?.finish(offset);
    return offset % 7 === 0 ? { kind: 'discarded', reason: 'seventh' } : succeeded;
  }

  #check({ intake }: IntakeUnderTest): void {
    if (!reconciles(intake.counts)) this.broken.push(`counts: ${JSON.stringify(intake.counts)}`);
  }

  /** No commit may pass a record that nobody has finished, nor say of one that it is done. */
  #watching(driver: BrokerDriver): BrokerDriver {
    const watch = (session: ConsumerSession): ConsumerSession => {
      const commit = async (offsets: readonly OffsetCommit[]): Promise<void> => {
        for (const each of offsets) {
          const complaint = this.#ledgers[each.partition]?.complaintAbout(each);
          if (complaint) this.broken.push(complaint);
        }
        await session.commit(offsets);
        for (const each of offsets) this.#ledgers[each.partition]?.record(each);
      };
      return new Proxy(session, {
        get: (target, key) => {
          if (key === 'commit') return commit;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    };
    const consumer: BrokerDriver['consumer'] = (options) => watch(driver.consumer(options));
    return Object.assign(Object.create(driver) as BrokerDriver, { consumer });
  }

  #upTo(limit: number): number {
    return Math.floor(this.world.runtime.random() * limit);
  }
}

describe('through failures, pauses, losses and rebalances in any order', () => {
  it.each<readonly [Processing['by'], number]>([
    ['partition', 1],
    ['partition', 2],
    ['partition', 3],
    ['key', 4],
    ['key', 5],
    ['key', 6],
    ['none', 7],
  ])(
    'every record is handled, in the order by %s, and no commit passes one that is not (seed %i)',
    async (by, seed) => {
      const world = await IntakeWorld.of(PARTITIONS, { seed });
      for (let partition = 0; partition < PARTITIONS; partition++)
        await world.writeKeys(upTo(RECORDS).map(keyOf), partition);
      const life = new Life(world, by);
      life.add('MANUAL_IMMEDIATE');
      life.add('MANUAL');
      for (let steps = 0; steps < 150 && life.missing > 0; steps++) await life.step();
      life.resumeAll();
      await world.until(() => life.missing === 0);
      for (let partition = 0; partition < PARTITIONS; partition++)
        await world.untilCommitted(RECORDS, partition);
      expect(life.broken).toEqual([]);
      expect(life.redelivered).toBeGreaterThan(0);
      await world.runtime.advance(1_000);
      for (const { intake } of life.members) {
        expect(reconciles(intake.counts)).toBe(true);
        expect(intake.counts.inFlight).toBe(0);
      }
      await world.end();
    },
    60_000,
  );
});
