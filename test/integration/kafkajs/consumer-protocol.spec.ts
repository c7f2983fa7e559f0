import { FencedError, type DriverLogger, type GroupProtocol } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { describeWithCluster, describeWithJava, describeWithKafka } from '../support/index.js';
import { JavaMember } from './java/java-member.js';
import { ascending, numbersOf, OurMember, type OurMemberOptions } from './our-member.js';

jest.setTimeout(90_000);

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];
const PATIENCE = { timeoutMs: 30_000 };

type Either = OurMember | JavaMember;

class Scene {
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

  async ours(
    groupProtocol: GroupProtocol,
    options: Partial<OurMemberOptions> = {},
  ): Promise<OurMember> {
    const { brokers, groupId, topic } = this;
    const member = new OurMember({ brokers, groupId, topic, groupProtocol, ...options });
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

  /** While the work goes on all partitions are written to; gives what was written to all of them so far. */
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

const shared = (...members: readonly Either[]) =>
  eventually(
    () => {
      const owned = members.flatMap((member) => member.owned);
      for (const member of members)
        if (member instanceof JavaMember) expect(member.troubles).not.toContain('Exception in');
      return (
        ascending(owned).join() === ALL.join() && members.every((member) => member.owned.length > 0)
      );
    },
    { ...PATIENCE, description: `${members.length} members to share all` },
  );

/** Every record was read by somebody, and whatever was read was committed up to the last. */
async function expectNothingLost(
  scene: Scene,
  written: readonly string[],
  members: readonly Either[],
): Promise<void> {
  const read = () => new Set(members.flatMap(({ records }) => records));
  await eventually(() => read().size === written.length, { ...PATIENCE, description: 'all' });
  expect([...read()].sort()).toEqual([...written].sort());
  await eventually(async () => {
    const offsets = await scene.groupOffsets();
    return offsets.reduce((sum, { offset }) => sum + offset, 0) === written.length;
  }, PATIENCE);
}

describeWithKafka('groupProtocol consumer on a real broker', ({ brokers, unique }) => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await new Scene(brokers, unique('kip848'), unique('group')).create();
  });
  afterEach(() => scene.end());

  it('what stays is neither revoked nor read twice while others come and go', async () => {
    const first = await scene.ours('consumer');
    await shared(first);
    const readAt: (readonly [record: string, at: number])[] = [];
    let second: OurMember | undefined;
    let kept: readonly number[] = [];
    const written = await scene.writingWhile(async () => {
      const watching = new AbortController();
      void (async () => {
        for (; !watching.signal.aborted; await sleep(realRuntime, 5))
          for (const record of first.records.slice(readAt.length))
            readAt.push([record, realRuntime.monotonic()]);
      })();
      await sleep(realRuntime, 300);
      second = await scene.ours('consumer');
      await shared(first, second);
      kept = first.owned;
      await second.close();
      await shared(first);
      await sleep(realRuntime, 300);
      watching.abort();
    });
    if (!second) throw new Error('Both have joined.');
    const moved = ALL.filter((partition) => !kept.includes(partition));
    expect(numbersOf(first.told, 'revoked')).toEqual(moved);
    expect(numbersOf(first.told, 'lost')).toEqual([]);
    const stayed = first.records.filter((each) => kept.includes(Number(each.split(':')[0])));
    expect(new Set(stayed).size).toBe(stayed.length);
    const times = readAt.flatMap(([record, at]) => (record.startsWith(`${kept[0]}:`) ? at : []));
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    process.stderr.write(
      `groupProtocol consumer, longest gap of what stays: ${Math.max(...gaps)} ms\n`,
    );
    await expectNothingLost(scene, written, [first, second]);
  });

  it.each([
    ['eager', ['sticky', 'range']],
    ['cooperative', ['cooperative-sticky']],
  ] as const)('a classic group (%s) changes over and back, one by one', async (_, assignors) => {
    const members: OurMember[] = [];
    const all: OurMember[] = [];
    const start = async (groupProtocol: GroupProtocol): Promise<void> => {
      const member = await scene.ours(
        groupProtocol,
        groupProtocol === 'classic' ? { assignors } : {},
      );
      members.push(member);
      all.push(member);
      await shared(...members);
    };
    const roll = async (groupProtocol: GroupProtocol): Promise<void> => {
      await members.shift()?.close();
      await start(groupProtocol);
    };
    const written = await scene.writingWhile(async () => {
      for (const protocol of ['classic', 'classic'] as const) await start(protocol);
      for (const protocol of ['consumer', 'consumer', 'classic', 'classic'] as const)
        await roll(protocol);
    });
    await expectNothingLost(scene, written, all);
  });

  it('offsets go with a transaction of the member, and not with that of one that has left', async () => {
    const member = await scene.ours('consumer');
    await shared(member);
    const { memberId, generation } = member.session;
    // The member itself commits what it reads, and that is in partition 0.
    const offsets = [{ topic: scene.topic, partition: 3, offset: 7 }];
    const of = { groupId: scene.groupId, memberId, generation, offsets };
    const producer = scene.transactionalProducer();
    const transaction = await producer.transaction();
    await transaction.send([{ topic: scene.topic, partition: 0, value: 'out' }]);
    await transaction.sendOffsets(of);
    await transaction.commit();
    await eventually(async () => {
      const stored = await scene.groupOffsets();
      return stored.find(({ partition }) => partition === 3)?.offset === 7;
    }, PATIENCE);
    await scene.ours('consumer');
    await eventually(() => member.session.generation > generation, PATIENCE);
    const late = await producer.transaction();
    await late.send([{ topic: scene.topic, partition: 0, value: 'out' }]);
    await expect(late.sendOffsets(of)).rejects.toThrow(FencedError);
    await late.abort();
  });

  describeWithJava('together with Java', () => {
    it.each(['Java', 'ours'] as const)(
      'share, with every record read, when %s comes first',
      async (which) => {
        const members: Either[] = [];
        const join = {
          Java: async () => void members.push(await scene.java()),
          ours: async () => void members.push(await scene.ours('consumer')),
        };
        await join[which]();
        await shared(...members);
        const written = await scene.writingWhile(async () => {
          await join[which === 'Java' ? 'ours' : 'Java']();
          await shared(...members);
        });
        const [first, second] = members;
        if (!first || !second) throw new Error('Both have joined.');
        expect(numbersOf(first.told, 'revoked')).toEqual(second.owned);
        await expectNothingLost(scene, written, members);
        await first.close();
        await shared(second);
        expect(numbersOf(second.told, 'lost')).toEqual([]);
      },
    );

    it('a classic member of ours hands over to Java and to ours, record by record', async () => {
      const classic = await scene.ours('classic');
      await shared(classic);
      const all: Either[] = [classic];
      const written = await scene.writingWhile(async () => {
        const java = await scene.java();
        all.push(java);
        await shared(classic, java);
        await classic.close();
        const ours = await scene.ours('consumer');
        all.push(ours);
        await shared(java, ours);
      });
      await expectNothingLost(scene, written, all);
    });
  });
});

describeWithCluster(
  'a cluster without groupProtocol consumer',
  { settings: { 'group.coordinator.rebalance.protocols': 'classic' } },
  (cluster) => {
    it('is read by the classic protocol, and one warning says what to do', async () => {
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
  'a cluster that does not change groups over',
  { settings: { 'group.consumer.migration.policy': 'disabled' } },
  (cluster) => {
    it('a member of the other protocol waits, and says why, until the group is free', async () => {
      const scene = await new Scene(cluster().brokers, 'kept', 'kept').create();
      const classic = await scene.ours('classic');
      await shared(classic);
      const waiting = new OurMember({
        brokers: cluster().brokers,
        groupId: 'kept',
        topic: 'kept',
        groupProtocol: 'consumer',
      });
      scene.ends.push(() => waiting.close());
      const starting = waiting.start();
      const isAdvised = ({ message }: Error): boolean =>
        message.includes('group.consumer.migration.policy=bidirectional');
      await eventually(() => waiting.troubles.some(isAdvised), PATIENCE);
      expect(classic.owned).toEqual(ALL);
      await classic.close();
      await starting;
      await shared(waiting);
      await scene.end();
    });
  },
);
