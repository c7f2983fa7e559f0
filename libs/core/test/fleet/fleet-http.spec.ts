import { Injectable } from '@nestjs/common';
import { EventBusAdmin } from '../../src/admin/event-bus-admin.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { AdminTestBus } from '../admin/admin-test-bus.spec-support.js';

describe('The fleet in the admin API', () => {
  let bus: AdminTestBus;

  afterEach(() => bus.end());

  const fleetOf = (instance: string) =>
    ({ controlTopic: 'control', provisioning: 'create', instance }) as const;

  /** The application with the admin API is instance `web`. */
  async function startTwo(): Promise<EventBusAdmin> {
    bus = await AdminTestBus.started({}, { fleet: fleetOf('web') });
    @Injectable()
    class Orders {
      @EventHandler('orders')
      onOrder(): void {}
    }
    const bindings = { orders: { topic: 'orders', groupId: 'shop' } };
    const worker = await bus.start({
      imports: [bus.module({ fleet: fleetOf('worker'), bindings })],
      providers: [Orders],
    });
    return worker.get(EventBusAdmin, { strict: false });
  }

  it('answers a command with who has done it', async () => {
    const worker = await startTwo();
    const paused = await bus.ask('POST', 'bindings/orders/pause', { body: { reason: 'why' } });
    expect(paused).toMatchObject({
      status: 200,
      body: {
        ...{ name: 'orders', state: 'PAUSED', lastCommand: { by: 'ann', reason: 'why' } },
        reach: {
          ...{ scope: 'fleet', isComplete: true },
          instances: [
            { instance: 'web', result: 'done', state: 'PAUSED' },
            { instance: 'worker', result: 'done', state: 'PAUSED' },
          ],
        },
      },
    });
    expect(worker.listBindings().bindings[0]).toMatchObject({
      ...{ state: 'PAUSED', lastCommand: { by: 'ann', reason: 'why' } },
    });
    await bus.ask('POST', 'bindings/orders/resume?scope=process');
    expect(worker.listBindings().bindings[0]?.state).toBe('PAUSED');
  });

  it('answers 207 if not every instance has done it', async () => {
    const worker = await startTwo();
    await bus.done(worker.stop('orders'));
    expect(await bus.ask('POST', 'bindings/orders/pause?wait=2s&validFor=5s')).toMatchObject({
      status: 207,
      body: {
        reach: {
          isComplete: false,
          instances: [
            { instance: 'web', result: 'done' },
            { instance: 'worker', result: 'refused', code: 'INVALID_CONTAINER_STATE' },
          ],
        },
      },
    });
    expect(await bus.ask('POST', 'bindings/orders/pause?wait=9m')).toMatchObject({ status: 400 });
  });

  it('lists the instances and the orders in force', async () => {
    await startTwo();
    await bus.ask('POST', 'bindings/orders/pause', { body: { reason: 'why' } });
    await bus.runtime.advance(15_000);
    const { body } = await bus.ask('GET', 'instances');
    expect(body).toMatchObject({
      scope: 'fleet',
      instances: [
        { name: 'web', isSilent: false, bindings: [{ name: 'orders', state: 'PAUSED' }] },
        { name: 'worker', isSilent: false, bindings: [{ name: 'orders', state: 'PAUSED' }] },
      ],
      orders: [
        { binding: 'orders', cluster: 'default', order: 'paused', by: 'ann', reason: 'why' },
      ],
    });
  });

  it('says that an answer speaks for this process only without a control topic', async () => {
    bus = await AdminTestBus.started();
    expect(await bus.ask('POST', 'bindings/orders/pause')).toMatchObject({
      status: 200,
      body: { state: 'PAUSED', reach: { scope: 'process', isComplete: true } },
    });
    expect(await bus.ask('GET', 'instances')).toMatchObject({ body: { scope: 'process' } });
    expect(await bus.ask('POST', 'bindings/orders/resume?scope=fleet')).toMatchObject({
      status: 409,
      body: { code: 'FLEET_NOT_CONFIGURED' },
    });
  });
});
