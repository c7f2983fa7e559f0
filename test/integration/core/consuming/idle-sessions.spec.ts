import { Socket } from 'node:net';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const IDLE_MS = 5_000;
/**
 * Twice as many as two sessions send with a fetch each 250 ms and a heartbeat each 300 ms. A session that
 * does not wait sends thousands.
 */
const MOST_REQUESTS = 300;
const MOST_CPU_MS = 500;

describeWithKafka('A session without records', ({ brokers }) => {
  let testBus: OrdersTestBus;
  beforeEach(async () => {
    testBus = new OrdersTestBus(brokers);
    await testBus.createTopics({ tiers: 1 });
  });
  afterEach(() => testBus.end());

  it('sends few requests, and needs hardly any processor time', async () => {
    await testBus.start({ retry: { tiers: [{ delayMs: 1_000 }] } });
    await sleep(realRuntime, 1_000);
    const writes = jest.spyOn(Socket.prototype, 'write');
    const cpuBefore = process.cpuUsage();
    await sleep(realRuntime, IDLE_MS);
    const { user, system } = process.cpuUsage(cpuBefore);
    const requests = writes.mock.calls.length;
    writes.mockRestore();
    expect(requests).toBeGreaterThan(0);
    expect(requests).toBeLessThanOrEqual(MOST_REQUESTS);
    expect((user + system) / 1_000).toBeLessThanOrEqual(MOST_CPU_MS);
  });
});
