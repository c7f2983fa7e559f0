import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { AssignorName } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { JavaMember } from './java/java-member.js';
import { ascending, numbersOf, OurMember } from './our-member.js';

jest.setTimeout(60_000);

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];

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
        const java = await JavaMember.start({ brokers, groupId, topic, protocol: assignors });
        ends.push(() => java.kill());
        return java;
      };
      const startOurs = async (assignors?: readonly AssignorName[]): Promise<OurMember> => {
        const ours = new OurMember({ brokers, groupId, topic, assignors });
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
