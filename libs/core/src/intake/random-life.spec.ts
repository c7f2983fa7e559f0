import type { BrokerDriver, ConsumerSession, OffsetCommit } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import type { Delivery } from '../model/delivery.js';
import { type Outcome, succeeded } from '../model/outcome.js';
import type { PauseReason } from './pause-reason.js';
import { type IntakeUnderTest, IntakeWorld, reconciles } from './intake-world.spec-support.js';

const PARTITIONS = 4;
const RECORDS = 2_500;
const REASONS = ['operator', 'circuit', 'routing'] as const satisfies readonly PauseReason[];

/** Members come and go, pause, lose their broker and fail, while somebody writes down every broken promise. */
class Life {
  readonly broken: string[] = [];
  readonly #done = Array.from({ length: PARTITIONS }, () => new Set<number>());
  readonly #low = Array.from({ length: PARTITIONS }, () => 0);
  readonly members: IntakeUnderTest[] = [];
  redelivered = 0;
  #made = 0;

  constructor(readonly world: IntakeWorld) {}

  get missing(): number {
    return this.#low.reduce((sum, low) => sum + RECORDS - low, 0);
  }

  add(ackMode: 'MANUAL' | 'MANUAL_IMMEDIATE'): void {
    const clientId = `member-${this.#made++}`;
    const member = this.world.intake((delivery) => this.#handle(member, delivery), {
      clientId,
      driver: this.#watching(memory({ broker: this.world.broker, clientId })),
      settings: {
        ackMode,
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
    if (offset > (this.#low[partition] as number))
      this.broken.push(`${partition}:${offset} came before ${this.#low[partition]} was done`);
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

  #finish(partition: number, offset: number): Outcome {
    const done = this.#done[partition] as Set<number>;
    done.add(offset);
    while (done.has(this.#low[partition] as number)) (this.#low[partition] as number)++;
    return offset % 7 === 0 ? { kind: 'discarded', reason: 'seventh' } : succeeded;
  }

  #check({ intake }: IntakeUnderTest): void {
    if (!reconciles(intake.counts)) this.broken.push(`counts: ${JSON.stringify(intake.counts)}`);
  }

  /** No commit may pass a record that nobody has finished. */
  #watching(driver: BrokerDriver): BrokerDriver {
    const watch = (session: ConsumerSession): ConsumerSession => {
      const commit = (offsets: readonly OffsetCommit[]): Promise<void> => {
        for (const { partition, offset } of offsets)
          if (offset > (this.#low[partition] as number))
            this.broken.push(`commit ${partition}:${offset} passes ${this.#low[partition]}`);
        return session.commit(offsets);
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
  it.each([1, 2, 3])(
    'every record is handled, in order, and no commit passes one that is not (seed %i)',
    async (seed) => {
      const world = await IntakeWorld.of(PARTITIONS, { seed });
      for (let partition = 0; partition < PARTITIONS; partition++)
        await world.write(RECORDS, partition);
      const life = new Life(world);
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
