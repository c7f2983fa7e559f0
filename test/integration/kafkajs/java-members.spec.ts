import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { AssignorName } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { JavaMember } from './java/java-member.js';
import { ascending, numbersOf, DriverMember } from './driver-member.js';

jest.setTimeout(180_000);

const PARTITIONS = 4;
const ALL = [0, 1, 2, 3];

describeWithJava('a member of this driver and a Java member in one group', () =>
  describeWithKafka('on a real broker', (kafka) => {
    const { brokers } = kafka;
    const ends: (() => Promise<void> | void)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0)) await end();
    });

    const startScenario = async () => {
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
      const startDriverMember = async (
        assignors?: readonly AssignorName[],
      ): Promise<DriverMember> => {
        const driverMember = new DriverMember({ brokers, groupId, topic, assignors });
        ends.push(() => driverMember.close());
        await driverMember.start();
        return driverMember;
      };
      return { send, startJava, startDriverMember };
    };

    const owns = (member: JavaMember | DriverMember, count: number) =>
      eventually(() => member.owned.length === count, {
        timeoutMs: 60_000,
        description: `the member to own ${count}`,
      });

    const waitUntilShared = (java: JavaMember, driverMember: DriverMember) =>
      eventually(
        () => {
          expect(java.stderr).toBe('');
          expect(driverMember.session.status.state).toBe('stable');
          expect(ascending([...java.owned, ...driverMember.owned])).toEqual(ALL);
          expect([java.owned.length, driverMember.owned.length]).toEqual([2, 2]);
          return true;
        },
        { timeoutMs: 60_000, description: 'two partitions each' },
      );

    /** Writes to all partitions while the work runs. Returns all records written. */
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

    it.each(['Java', 'driver'] as const)(
      'revoke only the partitions that move, and read every record, if %s leads',
      async (leader) => {
        const { send, startJava, startDriverMember } = await startScenario();
        let java: JavaMember | undefined;
        let driverMember: DriverMember | undefined;
        const begin = {
          Java: async () => (java = await startJava('CooperativeStickyAssignor')),
          driver: async () => (driverMember = await startDriverMember(['cooperative-sticky'])),
        };
        await owns(await begin[leader](), PARTITIONS);
        const written = await writingWhile(send, async () => {
          await begin[leader === 'Java' ? 'driver' : 'Java']();
          if (!java || !driverMember) throw new Error('Both members have started.');
          await waitUntilShared(java, driverMember);
        });
        if (!java || !driverMember) throw new Error('Both members have started.');
        const [first, second] = leader === 'Java' ? [java, driverMember] : [driverMember, java];
        expect(numbersOf(first.calls, 'revoked')).toEqual(second.owned);
        expect(numbersOf(second.calls, 'assigned')).toEqual(second.owned);
        expect(numbersOf(second.calls, 'revoked')).toEqual([]);
        const read = () => new Set([...(java?.records ?? []), ...(driverMember?.records ?? [])]);
        await eventually(() => read().size === written.length, { timeoutMs: 60_000 });
        expect([...read()].sort()).toEqual([...written].sort());

        const [kept, before] = [first.owned, second.owned];
        await first.close();
        await owns(second, PARTITIONS);
        // The listener of a member is called after its assignment has changed.
        await eventually(
          () => {
            expect(numbersOf(second.calls, 'assigned')).toEqual(ascending([...before, ...kept]));
            return true;
          },
          { timeoutMs: 60_000, description: 'the listener to be told of all partitions' },
        );
        expect(numbersOf(second.calls, 'revoked')).toEqual([]);
        expect([...numbersOf(first.calls, 'lost'), ...numbersOf(second.calls, 'lost')]).toEqual([]);
      },
    );

    it.each(['Java', 'driver'] as const)(
      'share the partitions with the default assignors of both clients if %s leads',
      async (leader) => {
        const { startJava, startDriverMember } = await startScenario();
        const defaults = ['RangeAssignor', 'CooperativeStickyAssignor'];
        const java = leader === 'Java' ? await startJava(...defaults) : undefined;
        if (java) await owns(java, PARTITIONS);
        const driverMember = await startDriverMember();
        await waitUntilShared(java ?? (await startJava(...defaults)), driverMember);
      },
    );
  }),
);
