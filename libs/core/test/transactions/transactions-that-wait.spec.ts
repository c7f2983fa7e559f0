import { memory } from '@nest-event-bus/broker/memory';
import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { World } from '../support/application.spec-support.js';

const MAX_POLL_MS = 40_000;
/** Longer than records share a transaction: what is behind the first one waits with it. */
const STRETCH_MS = 200;

let world: World;
let called: unknown[];

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ value }: EventRecord, { transaction }: EventContext): Promise<void> {
    called.push(value);
    await sleep(world.runtime, STRETCH_MS);
    transaction.send({ topic: 'out', value: String(value) });
  }
}

beforeEach(async () => {
  world = new World();
  called = [];
  await world.topic('orders');
  await world.topic('out');
});

afterEach(() => world.end());

describe('a transaction that waits for the cluster', () => {
  /** It is committed, the answer is lost, and nobody can be asked. */
  const withUnknownFate = async () => {
    const { faults } = world.broker;
    const lost = faults.loseAnswers({ operation: 'end-transaction' }, { times: 1 });
    const application = await world.startOrders(
      [Orders],
      {
        transactions: { enabled: true },
        maxPollIntervalMs: MAX_POLL_MS,
        stuckHandlerMs: MAX_POLL_MS / 2,
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 1_000,
      },
      { driver: memory({ broker: world.broker, clientId: 'bus', requestTimeoutMs: 3_000 }) },
    );
    await world.write('orders', '1', '2');
    await world.runtime.advance(STRETCH_MS);
    expect(lost.hits).toBe(1);
    const cut = faults.unplug({
      operation: ['init-producer', 'end-transaction', 'fetch-offsets'],
      clientId: 'bus',
    });
    await world.runtime.advance(5 * MAX_POLL_MS);
    const { mainContainer } = application.get(ContainerRegistry).require('orders');
    return { application, cut, container: mainContainer };
  };

  it('is no handler at work: the member stays, and none is said to be stuck', async () => {
    const { cut, container } = await withUnknownFate();
    expect(container.counts).toMatchObject({ membershipsGivenUp: 0, inFlight: 2 });
    expect(container.status.stuckHandlers).toBe(0);
    cut.lift();
    await world.runtime.advance(30_000);
    expect(await world.committed()).toBe(2);
    expect([called, (await world.records('out')).length]).toEqual([[1, 2], 2]);
  });

  it('is seen in health, and told when it begins and when it ends', async () => {
    const { application, cut } = await withUnknownFate();
    expect(world.health(application).status).toBe('DEGRADED');
    const [binding] = world.health(application).bindings;
    expect(binding?.reasons).toEqual(['eventbus-orders: orders-0 waits (backoff)']);
    expect(linesOf('Transactions wait for the cluster')).toBe(1);
    cut.lift();
    await world.runtime.advance(30_000);
    expect(world.health(application).status).toBe('UP');
    expect(linesOf('Transactions go on')).toBe(1);
  });

  const linesOf = (message: string): number =>
    [...world.said.warnings, ...world.said.infos].filter((line) => line.includes(message)).length;
});
