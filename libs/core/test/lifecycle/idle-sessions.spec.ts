import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { createTestBus, orders, Orders } from '../support/idle-orders.spec-support.js';
import type { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = await createTestBus();
});

afterEach(() => testBus.end());

describe('A session without records', () => {
  it('polls rarely, and lets the process sleep', async () => {
    let polls = 0;
    const supporting = memory({ broker: testBus.broker, clientId: 'bus' });
    const driver: BrokerDriver = {
      name: supporting.name,
      capabilities: supporting.capabilities,
      producer: (options) => supporting.producer(options),
      admin: () => supporting.admin(),
      close: () => supporting.close(),
      consumer: (options) => {
        const session = supporting.consumer(options);
        const poll = session.poll.bind(session);
        session.poll = (...given) => {
          polls++;
          return poll(...given);
        };
        return session;
      },
    };
    const setTimer = jest.spyOn(testBus.runtime, 'setTimer');
    const defer = jest.spyOn(testBus.runtime, 'defer');
    await testBus.startOrders([Orders], { ...orders, retry: { tiers: [] } }, { driver });
    polls = 0;
    setTimer.mockClear();
    defer.mockClear();
    await testBus.runtime.advance(5_000);
    expect(polls).toBeLessThanOrEqual(5);
    expect(setTimer.mock.calls.length + defer.mock.calls.length).toBeLessThanOrEqual(100);
  });
});
