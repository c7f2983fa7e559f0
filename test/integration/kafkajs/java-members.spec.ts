import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import {
  FencedError,
  type AssignorName,
  type BrokerDriver,
  type ConsumerSession,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { JavaMember } from './java/java-member.js';

jest.setTimeout(60_000);

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];

const ascending = (numbers: readonly number[]): number[] =>
  numbers.toSorted((left, right) => left - right);

/** One of ours, which reads and commits all the time. */
class OurMember {
  readonly told: string[] = [];
  readonly records: string[] = [];
  readonly session: ConsumerSession;
  readonly #driver: BrokerDriver;

  constructor(
    brokers: readonly string[],
    groupId: string,
    private readonly topic: string,
    assignors?: readonly AssignorName[],
  ) {
    this.#driver = kafkajs({ brokers });
    this.session = this.#driver.consumer({
      groupId,
      topics: [topic],
      assignors,
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 300,
    });
  }

  get owned(): number[] {
    return ascending(this.session.assignment().map(({ partition }) => partition));
  }

  async start(): Promise<void> {
    const tell =
      (what: string) =>
      (partitions: readonly { partition: number }[]): void =>
        void this.told.push(
          [what, ...ascending(partitions.map((each) => each.partition))].join(' '),
        );
    await this.session.start({
      onAssigned: tell('assigned'),
      onRevoked: tell('revoked'),
      onLost: tell('lost'),
    });
    void this.#read().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.session.close();
    await this.#driver.close();
  }

  async #commit(partition: number, offset: number): Promise<void> {
    try {
      await this.session.commit([{ topic: this.topic, partition, offset }]);
    } catch (error) {
      // It went meanwhile: whoever owns it now does it again.
      if (!(error instanceof FencedError)) throw error;
    }
  }

  async #read(): Promise<void> {
    for (;;) {
      for (const { partition, offset } of await this.session.poll(100)) {
        this.records.push(`${partition}:${offset}`);
        await this.#commit(partition, offset + 1);
      }
    }
  }
}

/** The numbers behind `what` in all that was told. */
const numbersOf = (told: readonly string[], what: string): number[] =>
  ascending(
    told
      .filter((line) => line.split(' ')[0] === what)
      .flatMap((line) => line.split(' ').slice(1).map(Number)),
  );

describeWithJava('a member of ours and one of Java in one group', () =>
  describeWithKafka('on a real broker', (kafka) => {
    const { brokers } = kafka;
    const ends: (() => Promise<void> | void)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0)) await end();
    });

    const scene = async () => {
      const [topic, groupId] = [kafka.unique('interop'), kafka.unique('group')];
      const driver = kafkajs({ brokers });
      ends.push(() => driver.close());
      await driver.admin().createTopics([{ name: topic, partitions: PARTITIONS }]);
      const producer = driver.producer();
      const send = (): Promise<unknown> =>
        producer.send(ALL.map((partition) => ({ topic, partition, value: 'v' })));
      const startJava = async (...assignors: string[]): Promise<JavaMember> => {
        const java = await JavaMember.start({ brokers, groupId, topic, assignors });
        ends.push(() => java.kill());
        return java;
      };
      const startOurs = async (assignors?: readonly AssignorName[]): Promise<OurMember> => {
        const ours = new OurMember(brokers, groupId, topic, assignors);
        ends.push(() => ours.close());
        await ours.start();
        return ours;
      };
      return { send, startJava, startOurs };
    };

    const owns = (member: JavaMember | OurMember, count: number) =>
      eventually(() => member.owned.length === count, {
        timeoutMs: 30_000,
        description: `it to own ${count}`,
      });

    const shared = (java: JavaMember, ours: OurMember) =>
      eventually(
        () => {
          expect(java.troubles).toBe('');
          expect(ours.session.status.state).toBe('stable');
          expect(ascending([...java.owned, ...ours.owned])).toEqual(ALL);
          expect([java.owned.length, ours.owned.length]).toEqual([2, 2]);
          return true;
        },
        { timeoutMs: 30_000, description: 'two partitions each' },
      );

    /** While the other one joins, all partitions are written to, all the time. */
    const writingWhile = async (send: () => Promise<unknown>, work: () => Promise<void>) => {
      const done = new AbortController();
      let rounds = 0;
      const writing = (async () => {
        for (; !done.signal.aborted; rounds++) {
          await send();
          await sleep(realRuntime, 20);
        }
      })();
      await work().finally(() => done.abort());
      await writing;
      return ALL.flatMap((partition) =>
        Array.from({ length: rounds }, (_, offset) => `${partition}:${offset}`),
      );
    };

    it.each(['Java', 'ours'] as const)(
      'only what moves is revoked, and every record is read by one, when %s leads',
      async (leader) => {
        const { send, startJava, startOurs } = await scene();
        let java: JavaMember | undefined;
        let ours: OurMember | undefined;
        const begin = {
          Java: async () => (java = await startJava('CooperativeStickyAssignor')),
          ours: async () => (ours = await startOurs(['cooperative-sticky'])),
        };
        await owns(await begin[leader](), PARTITIONS);
        const written = await writingWhile(send, async () => {
          await begin[leader === 'Java' ? 'ours' : 'Java']();
          if (!java || !ours) throw new Error('Both have begun.');
          await shared(java, ours);
        });
        if (!java || !ours) throw new Error('Both have begun.');
        const [first, second] = leader === 'Java' ? [java, ours] : [ours, java];
        expect(numbersOf(first.told, 'revoked')).toEqual(second.owned);
        expect(numbersOf(second.told, 'assigned')).toEqual(second.owned);
        expect(numbersOf(second.told, 'revoked')).toEqual([]);
        const read = () => new Set([...(java?.records ?? []), ...(ours?.records ?? [])]);
        await eventually(() => read().size === written.length, { timeoutMs: 15_000 });
        expect([...read()].sort()).toEqual([...written].sort());

        const [kept, before] = [first.owned, second.owned];
        await first.close();
        await owns(second, PARTITIONS);
        expect(numbersOf(second.told, 'assigned')).toEqual(ascending([...before, ...kept]));
        expect(numbersOf(second.told, 'revoked')).toEqual([]);
        expect([...numbersOf(first.told, 'lost'), ...numbersOf(second.told, 'lost')]).toEqual([]);
      },
    );

    it.each(['Java', 'ours'] as const)(
      'with the defaults of both they share too, when %s leads',
      async (leader) => {
        const { startJava, startOurs } = await scene();
        const defaults = ['RangeAssignor', 'CooperativeStickyAssignor'];
        const java = leader === 'Java' ? await startJava(...defaults) : undefined;
        if (java) await owns(java, PARTITIONS);
        const ours = await startOurs();
        await shared(java ?? (await startJava(...defaults)), ours);
      },
    );
  }),
);
