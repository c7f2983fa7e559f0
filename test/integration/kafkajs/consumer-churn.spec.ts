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
import { overlaps, tenuresOf, type Story } from './churn/tenures.js';

jest.setTimeout(90_000);

const PARTITIONS = 6;
const LOADER = join(__dirname, '../support/run-typescript.mjs');
const PROGRAM = join(__dirname, 'churn/churn-process.ts');
const ROUNDS = 8;

class Killable {
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

  get story(): Story {
    const { settings, events, endedAt } = this;
    return { name: settings.name, events, ...(endedAt === undefined ? {} : { endedAt }) };
  }

  async kill(): Promise<void> {
    this.endedAt ??= realRuntime.now();
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

describeWithKafka('groupProtocol consumer, members coming and going', ({ brokers, unique }) => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  it('every second, and one killed: one owner at a time, no record lost or passed over', async () => {
    const [topic, groupId] = [unique('churn'), unique('group')];
    const driver = kafkajs({ brokers });
    ends.push(() => driver.close());
    const admin = driver.admin();
    await admin.createTopics([{ name: topic, partitions: PARTITIONS }]);
    const writer = new NumberedWriter(driver, topic, PARTITIONS);
    ends.push(() => writer.stop());
    const watch = new CommittedWatch(admin, groupId, topic);
    ends.push(async () => void (await watch.stop()));
    const stories: Story[] = [];
    const settings = (name: string): ChurnSettings => ({ name, brokers, groupId, topic });

    const join = async (name: string): Promise<ChurnMember> => {
      const events: ChurnEvent[] = [];
      stories.push({ name, events });
      const member = new ChurnMember(settings(name), (event) => events.push(event));
      ends.push(() => member.leave());
      await member.start();
      return member;
    };
    const killed = new Killable(settings('killed'));
    ends.push(() => killed.kill());
    await eventually(() => killed.events.some(({ kind }) => kind === 'handled'), {
      timeoutMs: 30_000,
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
      { timeoutMs: 30_000, description: 'all to be committed' },
    );

    const all = [...stories, killed.story];
    const handled = all.flatMap(({ events }) =>
      events.flatMap((event) => (event.kind === 'handled' ? event : [])),
    );
    const { missing, duplicates, misplaced } = completenessOf(
      writer.offsets,
      await ended(),
      handled,
      [],
    );
    const tenures = all.flatMap(tenuresOf);
    process.stderr.write(
      `groupProtocol consumer: ${written} records, ${all.length} members, ${tenures.length} tenures, ${duplicates} handled twice\n`,
    );
    expect({ missing, misplaced }).toEqual({ missing: [], misplaced: [] });
    expect(overlaps(tenures)).toEqual([]);
    expect(watch.regressions).toEqual([]);
    expect(tenures.length).toBeGreaterThan(PARTITIONS * 2);
  });
});

describe('what such a round notices', () => {
  const event = (at: number, kind: 'assigned' | 'revoked' | 'lost', ...partitions: number[]) =>
    ({ at, kind, partitions }) as const;

  it('one partition with two members at once, and not one after the other', () => {
    const first = { name: 'a', events: [event(1, 'assigned', 0, 1), event(6, 'revoked', 0)] };
    const second = { name: 'b', events: [event(7, 'assigned', 0)] };
    expect(overlaps([first, second].flatMap(tenuresOf))).toEqual([]);
    const early = { name: 'c', events: [event(5, 'assigned', 0), event(5.5, 'lost', 0)] };
    expect(overlaps([first, early].flatMap(tenuresOf))).toMatchObject([
      [{ member: 'a' }, { member: 'c' }],
    ]);
  });

  it('that the dead have nothing any more', () => {
    const dead = { name: 'a', events: [event(1, 'assigned', 0)], endedAt: 3 };
    const heir = { name: 'b', events: [event(5, 'assigned', 0)] };
    expect(overlaps([dead, heir].flatMap(tenuresOf))).toEqual([]);
    expect(overlaps([{ ...dead, endedAt: 9 }, heir].flatMap(tenuresOf))).toHaveLength(1);
  });
});
