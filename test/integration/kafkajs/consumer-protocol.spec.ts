import { FencedError, type DriverLogger, type GroupProtocol } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { describeWithCluster, describeWithJava, describeWithKafka } from '../support/index.js';
import { JavaMember } from './java/java-member.js';
import { ascending, numbersOf, DriverMember, type DriverMemberOptions } from './driver-member.js';

jest.setTimeout(180_000);

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];
const WAIT = { timeoutMs: 60_000 };

type AnyMember = DriverMember | JavaMember;

class GroupScenario {
  readonly ends: (() => Promise<void> | void)[] = [];
  readonly #driver: ReturnType<typeof kafkajs>;
  #written = 0;

  constructor(
    private readonly brokers: readonly string[],
    readonly topic: string,
    readonly groupId: string,
  ) {
    this.#driver = kafkajs({ brokers });
    this.ends.push(() => this.#driver.close());
  }

  async create(): Promise<this> {
    await this.#driver.admin().createTopics([{ name: this.topic, partitions: PARTITIONS }]);
    return this;
  }

  async startDriverMember(
    groupProtocol: GroupProtocol,
    options: Partial<DriverMemberOptions> = {},
  ): Promise<DriverMember> {
    const { brokers, groupId, topic } = this;
    const member = new DriverMember({ brokers, groupId, topic, groupProtocol, ...options });
    this.ends.push(() => member.close());
    await member.start();
    return member;
  }

  async java(): Promise<JavaMember> {
    const { brokers, groupId, topic } = this;
    const java = await JavaMember.start({ brokers, groupId, topic, protocol: 'consumer' });
    this.ends.push(() => java.kill());
    return java;
  }

  /** Writes to all partitions while the work runs. Returns all records written so far. */
  async writingWhile(work: () => Promise<void>): Promise<readonly string[]> {
    const done = new AbortController();
    const producer = this.#driver.producer();
    const writing = (async () => {
      for (; !done.signal.aborted; this.#written++) {
        await producer.send(ALL.map((partition) => ({ topic: this.topic, partition, value: 'v' })));
        await sleep(realRuntime, 20);
      }
    })();
    await work().finally(() => done.abort());
    await writing;
    await producer.close();
    return ALL.flatMap((partition) =>
      Array.from({ length: this.#written }, (_, offset) => `${partition}:${offset}`),
    );
  }

  groupOffsets() {
    return this.#driver.admin().groupOffsets(this.groupId);
  }

  transactionalProducer() {
    return this.#driver.producer({ transactionalId: this.groupId });
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }
}

const waitUntilShared = (...members: readonly AnyMember[]) =>
  eventually(
    () => {
      const owned = members.flatMap((member) => member.owned);
      for (const member of members)
        if (member instanceof JavaMember) expect(member.stderr).not.toContain('Exception in');
      return (
        ascending(owned).join() === ALL.join() && members.every((member) => member.owned.length > 0)
      );
    },
    { ...WAIT, description: `${members.length} members to share all` },
  );

/**
 * Asserts that every record was read by a member, and that the committed offsets are after the last
 * records.
 */
async function expectNothingLost(
  scenario: GroupScenario,
  written: readonly string[],
  members: readonly AnyMember[],
): Promise<void> {
  const read = () => new Set(members.flatMap(({ records }) => records));
  await eventually(() => read().size === written.length, { ...WAIT, description: 'all' });
  expect([...read()].sort()).toEqual([...written].sort());
  await eventually(async () => {
    const offsets = await scenario.groupOffsets();
    return offsets.reduce((sum, { offset }) => sum + offset, 0) === written.length;
  }, WAIT);
}

describeWithKafka('groupProtocol consumer on a real broker', ({ brokers, unique }) => {
  let scenario: GroupScenario;
  beforeEach(async () => {
    scenario = await new GroupScenario(brokers, unique('kip848'), unique('group')).create();
  });
  afterEach(() => scenario.end());

  it('keeps the other partitions without revoking or reading them again while members join and leave', async () => {
    const first = await scenario.startDriverMember('consumer');
    await waitUntilShared(first);
    const readAt: (readonly [record: string, at: number])[] = [];
    let second: DriverMember | undefined;
    let kept: readonly number[] = [];
    const written = await scenario.writingWhile(async () => {
      const watching = new AbortController();
      void (async () => {
        for (; !watching.signal.aborted; await sleep(realRuntime, 5))
          for (const record of first.records.slice(readAt.length))
            readAt.push([record, realRuntime.monotonic()]);
      })();
      await sleep(realRuntime, 300);
      second = await scenario.startDriverMember('consumer');
      await waitUntilShared(first, second);
      kept = first.owned;
      await second.close();
      await waitUntilShared(first);
      await sleep(realRuntime, 300);
      watching.abort();
    });
    if (!second) throw new Error('Both members have joined.');
    const moved = ALL.filter((partition) => !kept.includes(partition));
    expect(numbersOf(first.calls, 'revoked')).toEqual(moved);
    expect(numbersOf(first.calls, 'lost')).toEqual([]);
    const stayed = first.records.filter((each) => kept.includes(Number(each.split(':')[0])));
    expect(new Set(stayed).size).toBe(stayed.length);
    const times = readAt.flatMap(([record, at]) => (record.startsWith(`${kept[0]}:`) ? at : []));
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    process.stderr.write(
      `groupProtocol consumer, longest gap of what stays: ${Math.max(...gaps)} ms\n`,
    );
    await expectNothingLost(scenario, written, [first, second]);
  });

  it.each([
    ['eager', ['sticky', 'range']],
    ['cooperative', ['cooperative-sticky']],
  ] as const)(
    'migrates a classic group (%s) to the consumer protocol and back, one member at a time',
    async (_, assignors) => {
      const members: DriverMember[] = [];
      const all: DriverMember[] = [];
      const start = async (groupProtocol: GroupProtocol): Promise<void> => {
        const member = await scenario.startDriverMember(
          groupProtocol,
          groupProtocol === 'classic' ? { assignors } : {},
        );
        members.push(member);
        all.push(member);
        await waitUntilShared(...members);
      };
      const roll = async (groupProtocol: GroupProtocol): Promise<void> => {
        await members.shift()?.close();
        await start(groupProtocol);
      };
      const written = await scenario.writingWhile(async () => {
        for (const protocol of ['classic', 'classic'] as const) await start(protocol);
        for (const protocol of ['consumer', 'consumer', 'classic', 'classic'] as const)
          await roll(protocol);
      });
      await expectNothingLost(scenario, written, all);
    },
  );

  it('commits offsets in a transaction of a member, but not of one that has left', async () => {
    const member = await scenario.startDriverMember('consumer');
    await waitUntilShared(member);
    const { memberId, generation } = member.session;
    // The member itself commits the records that it reads. All of them are in partition 0.
    const offsets = [{ topic: scenario.topic, partition: 3, offset: 7 }];
    const of = { groupId: scenario.groupId, memberId, generation, offsets };
    const producer = scenario.transactionalProducer();
    const transaction = await producer.transaction();
    await transaction.send([{ topic: scenario.topic, partition: 0, value: 'out' }]);
    await transaction.sendOffsets(of);
    await transaction.commit();
    await eventually(async () => {
      const stored = await scenario.groupOffsets();
      return stored.find(({ partition }) => partition === 3)?.offset === 7;
    }, WAIT);
    await scenario.startDriverMember('consumer');
    await eventually(() => member.session.generation > generation, WAIT);
    const late = await producer.transaction();
    await late.send([{ topic: scenario.topic, partition: 0, value: 'out' }]);
    await expect(late.sendOffsets(of)).rejects.toThrow(FencedError);
    await late.abort();
  });

  describeWithJava('groupProtocol consumer, together with a Java client', () => {
    it.each(['Java', 'driver'] as const)(
      'shares the partitions and reads every record when %s joins first',
      async (which) => {
        const members: AnyMember[] = [];
        const join = {
          Java: async () => void members.push(await scenario.java()),
          driver: async () => void members.push(await scenario.startDriverMember('consumer')),
        };
        await join[which]();
        await waitUntilShared(...members);
        const written = await scenario.writingWhile(async () => {
          await join[which === 'Java' ? 'driver' : 'Java']();
          await waitUntilShared(...members);
        });
        const [first, second] = members;
        if (!first || !second) throw new Error('Both members have joined.');
        expect(numbersOf(first.calls, 'revoked')).toEqual(second.owned);
        await expectNothingLost(scenario, written, members);
        await first.close();
        await waitUntilShared(second);
        expect(numbersOf(second.calls, 'lost')).toEqual([]);
      },
    );

    it('migrates from a classic member of this driver to Java and back, without losing a record', async () => {
      const classic = await scenario.startDriverMember('classic');
      await waitUntilShared(classic);
      const all: AnyMember[] = [classic];
      const written = await scenario.writingWhile(async () => {
        const java = await scenario.java();
        all.push(java);
        await waitUntilShared(classic, java);
        await classic.close();
        const startDriverMember = await scenario.startDriverMember('consumer');
        all.push(startDriverMember);
        await waitUntilShared(java, startDriverMember);
      });
      await expectNothingLost(scenario, written, all);
    });
  });
});

describeWithCluster(
  'groupProtocol consumer, on a cluster without the consumer protocol',
  { settings: { 'group.coordinator.rebalance.protocols': 'classic' } },
  (cluster) => {
    it('uses the classic protocol after one warning that says what to do', async () => {
      const warned: string[] = [];
      const say = () => undefined;
      const warn = (message: string) => void warned.push(message);
      const logger: DriverLogger = { debug: say, info: say, warn, error: say };
      const driver = kafkajs({ brokers: cluster().brokers, logger });
      await driver.admin().createTopics([{ name: 'fallback', partitions: 1 }]);
      const sessions = ['one', 'two'].map((groupId) =>
        driver.consumer({ groupId, topics: ['fallback'], groupProtocol: 'consumer' }),
      );
      const assigned: number[] = [];
      for (const session of sessions)
        await session.start({
          onAssigned: (partitions) => void assigned.push(partitions.length),
          onRevoked: say,
          onLost: say,
        });
      expect(assigned).toEqual([1, 1]);
      await sessions[0]?.commit([{ topic: 'fallback', partition: 0, offset: 0 }]);
      expect(warned).toEqual([expect.stringContaining('group.coordinator.rebalance.protocols')]);
      await driver.close();
    });
  },
);

describeWithCluster(
  'groupProtocol consumer, on a cluster without group migration',
  { settings: { 'group.consumer.migration.policy': 'disabled' } },
  (cluster) => {
    it('waits and reports the reason until the members of the classic protocol have left', async () => {
      const scenario = await new GroupScenario(cluster().brokers, 'kept', 'kept').create();
      const classic = await scenario.startDriverMember('classic');
      await waitUntilShared(classic);
      const waiting = new DriverMember({
        brokers: cluster().brokers,
        groupId: 'kept',
        topic: 'kept',
        groupProtocol: 'consumer',
      });
      scenario.ends.push(() => waiting.close());
      const starting = waiting.start();
      const isAdvised = ({ message }: Error): boolean =>
        message.includes('group.consumer.migration.policy=bidirectional');
      await eventually(() => waiting.errors.some(isAdvised), WAIT);
      expect(classic.owned).toEqual(ALL);
      await classic.close();
      await starting;
      await waitUntilShared(waiting);
      await scenario.end();
    });
  },
);
