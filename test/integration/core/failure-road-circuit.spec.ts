import { ContainerRegistry, type CircuitTransition } from '@nest-event-bus/core';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../support/index.js';
import { OrdersStage } from './orders-stage.js';

const PARTITIONS = 6;
const SESSIONS = 3;
const RECORDS = 3_600;
const BATCHES = 30;
const DOWN_MS = 4_000;
const OPEN_MS = 500;
const TIERS = 2;

describeWithKafka('a dependency that is down under load, with breaker and tiers', (kafka) => {
  it('opens the circuit and floods no retry topic; afterwards everything is handled', async () => {
    const stage = new OrdersStage(kafka.brokers);
    try {
      let isDown = false;
      const done: unknown[] = [];
      stage.handle = async ({ value }) => {
        await sleep(realRuntime, 1);
        if (isDown)
          throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), {
            code: 'ECONNREFUSED',
          });
        done.push(value);
      };
      await stage.createTopics({ tiers: TIERS, partitions: PARTITIONS });
      const application = await stage.start({
        concurrency: SESSIONS,
        retry: {
          tier0: { maxAttempts: 2, initialBackoffMs: 20 },
          tiers: [{ delayMs: 300 }, { delayMs: 600 }],
        },
        circuitBreaker: {
          enabled: true,
          slidingWindowSize: 10,
          minimumNumberOfCalls: 10,
          permittedNumberOfCallsInHalfOpenState: 3,
          waitDurationInOpenStateMs: OPEN_MS,
        },
      });
      const registration = () => application.get(ContainerRegistry).require('orders');
      const breaker = registration().circuitBreaker.current!;
      const transitions: CircuitTransition[] = [];
      breaker.onTransition((transition) => transitions.push(transition));

      const writing = (async (): Promise<void> => {
        const perSend = RECORDS / BATCHES / PARTITIONS;
        for (let batch = 0; batch < BATCHES; batch++) {
          for (let partition = 0; partition < PARTITIONS; partition++) {
            const from = (batch * PARTITIONS + partition) * perSend;
            const numbers = Array.from({ length: perSend }, (_, index) => from + index);
            await stage.writeTo(partition, ...numbers.map(String));
          }
          await sleep(realRuntime, 200);
        }
      })();
      await stage.until('records to be handled', () => done.length > 100);

      isDown = true;
      await stage.until('the circuit to hold the binding', () =>
        registration().pauses.includes('circuit'),
      );
      await sleep(realRuntime, DOWN_MS);
      for (let tier = 1; tier <= TIERS; tier++)
        expect(await stage.records(stage.retryTopic(tier))).toEqual([]);
      expect(breaker.state).not.toBe('CLOSED');
      isDown = false;

      await writing;
      await stage.until('the circuit to close', () => breaker.state === 'CLOSED');
      await stage.until('all to be handled', () => new Set(done).size === RECORDS);
      expect(done).toHaveLength(RECORDS);
      expect(transitions.filter(({ to }) => to === 'HALF_OPEN').length).toBeGreaterThan(2);
      for (let tier = 1; tier <= TIERS; tier++)
        expect(await stage.records(stage.retryTopic(tier))).toEqual([]);
      expect(await stage.letters()).toEqual([]);
      await stage.until('all to be committed', async () => (await stage.committed()) === RECORDS);
      await stage.until('health to be UP', () => stage.health(application).status === 'UP');
    } finally {
      await stage.end();
    }
  }, 60_000);
});
