import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { completenessOf } from '../../chaos/broker/support/completeness.js';
import { CommittedWatch } from '../../chaos/broker/support/committed-watch.js';
import { NumberedWriter } from '../../chaos/broker/support/numbered-writer.js';
import { describeWithKafka } from '../support/index.js';
import { ChurnMember, type ChurnEvent, type ChurnSettings } from './churn/churn-member.js';
import {
  overlappingPeriods,
  ownershipPeriods,
  type MemberHistory,
} from './churn/ownership-periods.js';

jest.setTimeout(180_000);

const PARTITIONS = 6;
const LOADER = join(__dirname, '../support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'churn/churn-process.ts');
const ROUNDS = 8;

class KillableMember {
  readonly events: ChurnEvent[] = [];
  endedAt: number | undefined;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor(readonly settings: ChurnSettings) {
    const child = spawn(process.execPath, ['--import', LOADER, PROGRAM, JSON.stringify(settings)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.events.push(JSON.parse(line) as ChurnEvent),
    );
    this.#closed = once(child, 'close');
  }

  get history(): MemberHistory {
    const { settings, events, endedAt } = this;
    return { name: settings.name, events, ...(endedAt === undefined ? {} : { endedAt }) };
  }

  async kill(): Promise<void> {
    this.endedAt ??= realRuntime.now();
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

describeWithKafka(
  'groupProtocol consumer, with members that join and leave',
  ({ brokers, unique }) => {
    const ends: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    it('has one owner per partition and loses no record while members join, leave and are killed', async () => {
      const [topic, groupId] = [unique('churn'), unique('group')];
      const driver = kafkajs({ brokers });
      ends.push(() => driver.close());
      const admin = driver.admin();
      await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
      const writer = new NumberedWriter(driver, topic, PARTITIONS);
      ends.push(() => writer.stop());
      const watch = new CommittedWatch(admin, groupId, topic);
      ends.push(async () => void (await watch.stop()));
      const histories: MemberHistory[] = [];
      const settings = (name: string): ChurnSettings => ({ name, brokers, groupId, topic });

      const join = async (name: string): Promise<ChurnMember> => {
        const events: ChurnEvent[] = [];
        histories.push({ name, events });
        const member = new ChurnMember(settings(name), (event) => events.push(event));
        ends.push(() => member.leave());
        await member.start();
        return member;
      };
      const killed = new KillableMember(settings('killed'));
      ends.push(() => killed.kill());
      await eventually(() => killed.events.some(({ kind }) => kind === 'handled'), {
        timeoutMs: 60_000,
      });

      const present: ChurnMember[] = [await join('stays')];
      for (let round = 0; round < ROUNDS; round++) {
        if (round === ROUNDS / 2) await killed.kill();
        if (round % 2 === 0)
          present.push(await join(`guest-${round}`), await join(`guest-${round}b`));
        else await present.pop()?.leave();
        await sleep(realRuntime, 1_000);
      }
      await writer.stop();
      const ended = () => admin.groupOffsets(groupId, [topic]);
      const written = writer.written;
      await eventually(
        async () => (await ended()).reduce((sum, { offset }) => sum + offset, 0) === written,
        { timeoutMs: 60_000, description: 'all to be committed' },
      );

      const all = [...histories, killed.history];
      const handled = all.flatMap(({ events }) =>
        events.flatMap((event) => (event.kind === 'handled' ? event : [])),
      );
      const { missing, duplicates, misplaced } = completenessOf(
        writer.offsets,
        await ended(),
        handled,
        [],
      );
      const periods = all.flatMap(ownershipPeriods);
      process.stderr.write(
        `groupProtocol consumer: ${written} records, ${all.length} members, ${periods.length} ownership periods, ${duplicates} handled twice\n`,
      );
      expect({ missing, misplaced }).toEqual({ missing: [], misplaced: [] });
      expect(overlappingPeriods(periods)).toEqual([]);
      expect(watch.regressions).toEqual([]);
      expect(periods.length).toBeGreaterThan(PARTITIONS * 2);
    });
  },
);

describe('overlappingPeriods()', () => {
  const event = (at: number, kind: 'assigned' | 'revoked' | 'lost', ...partitions: number[]) =>
    ({ at, kind, partitions }) as const;

  it('returns a partition that two members own at the same time, but not one after the other', () => {
    const first = { name: 'a', events: [event(1, 'assigned', 0, 1), event(6, 'revoked', 0)] };
    const second = { name: 'b', events: [event(7, 'assigned', 0)] };
    expect(overlappingPeriods([first, second].flatMap(ownershipPeriods))).toEqual([]);
    const early = { name: 'c', events: [event(5, 'assigned', 0), event(5.5, 'lost', 0)] };
    expect(overlappingPeriods([first, early].flatMap(ownershipPeriods))).toMatchObject([
      [{ member: 'a' }, { member: 'c' }],
    ]);
  });

  it('ends the ownership periods of a killed member at its death', () => {
    const killedMember = { name: 'a', events: [event(1, 'assigned', 0)], endedAt: 3 };
    const successor = { name: 'b', events: [event(5, 'assigned', 0)] };
    expect(overlappingPeriods([killedMember, successor].flatMap(ownershipPeriods))).toEqual([]);
    expect(
      overlappingPeriods([{ ...killedMember, endedAt: 9 }, successor].flatMap(ownershipPeriods)),
    ).toHaveLength(1);
  });
});
