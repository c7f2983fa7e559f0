import type { Isolation, Transaction } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { runJavaProgram } from './java/java-program.js';

jest.setTimeout(180_000);

const ROUNDS = 12;

describeWithJava("Java's transactions and those of this library", () =>
  describeWithKafka('on one broker', ({ brokers, unique }) => {
    const driver = kafkajs({ brokers });
    afterAll(() => driver.close());

    const newTopic = async (): Promise<string> => {
      const topic = unique('interop');
      await driver.admin().createTopics([{ name: topic, partitions: 2 }]);
      return topic;
    };

    /** Reads with a consumer of this library, up to the current end of the topic. */
    const readWithOurConsumer = async (topic: string, isolation: Isolation): Promise<string[]> => {
      const ends = await driver.admin().watermarks(topic);
      const session = driver.consumer({ groupId: unique('group'), topics: [topic], isolation });
      const ignore = (): void => undefined;
      await session.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
      const values: string[] = [];
      const isAtEnd = (): boolean =>
        ends.every(({ partition, high }) => (session.position({ topic, partition }) ?? 0) >= high);
      const over = new AbortController();
      // Only markers follow the last record, and no poll returns for a marker. So the position is
      // checked on a timer.
      const watch = setInterval(() => isAtEnd() && over.abort(new Error('All is read.')), 50);
      try {
        for (;;)
          for (const { partition, value } of await session.poll(1_000, over.signal))
            values.push(`${partition} ${String(value)}`);
      } catch (error) {
        if (error !== over.signal.reason) throw error;
      } finally {
        clearInterval(watch);
      }
      await session.close();
      return values;
    };

    it('return the same committed records of interleaved Java transactions', async () => {
      const topic = await newTopic();
      const programArguments = [brokers.join(), topic, unique('java'), String(ROUNDS)];
      const committed = await runJavaProgram('InterleavedTransactions', programArguments);
      expect(committed.length).toBeGreaterThan(ROUNDS);
      const [ours, all] = [
        await readWithOurConsumer(topic, 'read_committed'),
        await readWithOurConsumer(topic, 'read_uncommitted'),
      ];
      expect(ours.map((value) => value.slice(2)).toSorted()).toEqual(committed.toSorted());
      expect(all).toHaveLength(ROUNDS * 2 * 12);
      expect(await runJavaProgram('CommittedReader', [brokers.join(), topic])).toHaveLength(
        ours.length,
      );
    });

    it('return the same committed records of interleaved transactions of this library', async () => {
      const topic = await newTopic();
      const producers = ['one', 'other'].map((name) =>
        driver.producer({ transactionalId: unique(name), lingerMs: 0 }),
      );
      const send = async (transaction: Transaction, name: string): Promise<string[]> => {
        const records = [0, 1, 2, 3].map((number) => ({
          topic,
          partition: number % 2,
          value: `${name} ${number}`,
        }));
        await transaction.send(records);
        return records.map(({ partition, value }) => `${partition} ${value}`);
      };
      const committed: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const [one, other] = await Promise.all(producers.map((each) => each.transaction()));
        if (!one || !other) throw new Error('There are two.');
        const ofOne = await send(one, `one ${round}`);
        const ofOther = await send(other, `other ${round}`);
        ofOne.push(...(await send(one, `one again ${round}`)));
        if (round % 3 === 0) await one.abort();
        else await one.commit().then(() => committed.push(...ofOne));
        ofOther.push(...(await send(other, `other again ${round}`)));
        if (round % 2 === 0) await other.abort();
        else await other.commit().then(() => committed.push(...ofOther));
      }
      const theirs = await runJavaProgram('CommittedReader', [brokers.join(), topic]);
      expect(theirs.toSorted()).toEqual(committed.toSorted());
      const perPartition = (lines: readonly string[], partition: number): string[] =>
        lines.filter((line) => line.startsWith(`${partition} `));
      const ours = await readWithOurConsumer(topic, 'read_committed');
      for (const partition of [0, 1])
        expect(perPartition(ours, partition)).toEqual(perPartition(theirs, partition));
    });
  }),
);
