import { memory } from '@nest-event-bus/broker/memory';
import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const MAX_POLL_MS = 40_000;
/**
 * Time that is longer than records may share a transaction. After a call of this duration the
 * second record waits for the first transaction.
 */
const SHARED_TRANSACTION_MS = 200;

let testBus: TestBus;
let called: unknown[];

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ value }: EventRecord, { transaction }: EventContext): Promise<void> {
    called.push(value);
    await sleep(testBus.runtime, SHARED_TRANSACTION_MS);
    transaction.send({ topic: 'out', value: String(value) });
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  called = [];
  await testBus.topic('orders');
  await testBus.failureTopics();
  await testBus.topic('out');
});

afterEach(() => testBus.end());

describe('A transaction whose result is unknown', () => {
  /**
   * Commits a transaction whose response is lost, and disconnects the application from the
   * coordinators.
   */
  const startWithUnknownResult = async () => {
    const { faults } = testBus.broker;
    const lost = faults.loseAnswers({ operation: 'end-transaction' }, { times: 1 });
    const application = await testBus.startOrders(
      [Orders],
      {
        transactions: { enabled: true },
        maxPollIntervalMs: MAX_POLL_MS,
        stuckHandlerMs: MAX_POLL_MS / 2,
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 1_000,
      },
      { driver: memory({ broker: testBus.broker, clientId: 'bus', requestTimeoutMs: 3_000 }) },
    );
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(SHARED_TRANSACTION_MS);
    expect(lost.hits).toBe(1);
    const outage = faults.unplug({
      operation: ['init-producer', 'end-transaction', 'fetch-offsets'],
      clientId: 'bus',
    });
    await testBus.runtime.advance(5 * MAX_POLL_MS);
    const { mainContainer } = application.get(ContainerRegistry).require('orders');
    return { application, outage, container: mainContainer };
  };

  it('does not count as a running handler: the member stays in its group, and no handler is reported as stuck', async () => {
    const { outage, container } = await startWithUnknownResult();
    expect(container.counts).toMatchObject({ membershipsGivenUp: 0, inFlight: 2 });
    expect(container.status.stuckHandlers).toBe(0);
    outage.lift();
    await testBus.runtime.advance(30_000);
    expect(await testBus.committed()).toBe(2);
    expect([called, (await testBus.records('out')).length]).toEqual([[1, 2], 2]);
  });

  it('sets health to DEGRADED until the result is known, and logs when that begins and ends', async () => {
    const { application, outage } = await startWithUnknownResult();
    expect(testBus.health(application).status).toBe('DEGRADED');
    const [binding] = testBus.health(application).bindings;
    expect(binding?.reasons).toEqual(['eventbus-orders: orders-0 waits (backoff)']);
    expect(linesOf('Transactions wait for the cluster')).toBe(1);
    outage.lift();
    await testBus.runtime.advance(30_000);
    expect(testBus.health(application).status).toBe('UP');
    expect(linesOf('Transactions go on')).toBe(1);
  });

  const linesOf = (message: string): number =>
    [...testBus.log.warnings, ...testBus.log.infos].filter((line) => line.includes(message)).length;
});
