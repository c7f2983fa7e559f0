import { AdminTestBus } from './admin-test-bus.spec-support.js';

describe('The admin API of bindings', () => {
  let bus: AdminTestBus;

  beforeEach(async () => {
    bus = await AdminTestBus.started({}, { bindings: { audit: { topic: 'audit', groupId: 'a' } } });
  });
  afterEach(() => bus.end());

  it('lists bindings with their states, and those to which the application only publishes', async () => {
    expect(await bus.ask('GET', 'bindings')).toMatchObject({
      status: 200,
      body: {
        bindings: [{ name: 'orders', cluster: 'default', state: 'RUNNING', pauses: [] }],
        published: [{ name: 'audit', cluster: 'default', topic: 'audit' }],
      },
    });
  });

  it('shows counts, lag, circuit and containers of one binding', async () => {
    bus.isCured = true;
    await bus.write('orders', '1', '2');
    await bus.runtime.advance(2_000);
    await bus.ask('POST', 'bindings/orders/pause');
    await bus.write('orders', '3');
    expect(await bus.ask('GET', 'bindings/orders?cluster=default')).toMatchObject({
      status: 200,
      body: {
        state: 'PAUSED',
        topic: 'orders',
        groupId: 'shop',
        deadLetterTopic: 'orders.DLT',
        health: { status: 'DEGRADED', reasons: ['paused: operator'] },
        counts: { received: 2, processed: 2, failed: 0, deadLettered: 0 },
        lag: 1,
        circuit: null,
        containers: [
          { tier: 0, assignment: [{ topic: 'orders', partition: 0 }] },
          { tier: 1, topic: 'orders.retry-1' },
        ],
      },
    });
  });

  it('pauses, resumes, stops and starts, and keeps who did it and why', async () => {
    const body = { reason: 'maintenance' };
    for (const [command, state] of [
      ['pause', 'PAUSED'],
      ['resume', 'RUNNING'],
      ['stop', 'STOPPED'],
      ['start', 'RUNNING'],
    ] as const)
      expect(await bus.ask('POST', `bindings/orders/${command}`, { body })).toMatchObject({
        status: 200,
        body: { state, lastCommand: { operation: command, by: 'ann', reason: 'maintenance' } },
      });
  });

  it('answers 409 for a command that the state does not allow', async () => {
    expect(await bus.ask('POST', 'bindings/orders/start')).toMatchObject({
      status: 409,
      headers: { 'content-type': expect.stringContaining('application/problem+json') as unknown },
      body: { code: 'INVALID_CONTAINER_STATE', status: 409, title: 'Conflict' },
    });
  });

  it('answers 404 for an unknown binding, and 409 for one that is only published to', async () => {
    expect(await bus.ask('POST', 'bindings/ordres/stop')).toMatchObject({
      status: 404,
      body: { code: 'BINDING_NOT_FOUND' },
    });
    expect(await bus.ask('GET', 'bindings/audit')).toMatchObject({
      status: 409,
      body: { code: 'BINDING_NOT_CONSUMED' },
    });
  });

  it('pauses and resumes one retry tier', async () => {
    expect(await bus.ask('POST', 'bindings/orders/tiers/1/pause')).toMatchObject({ status: 200 });
    const paused = await bus.ask('GET', 'bindings/orders');
    expect(paused.body).toMatchObject({ containers: [{ pauses: [] }, { pauses: ['tier'] }] });
    expect(await bus.ask('POST', 'bindings/orders/tiers/1/resume')).toMatchObject({ status: 200 });
    expect(await bus.ask('POST', 'bindings/orders/tiers/7/pause')).toMatchObject({
      status: 404,
      body: { code: 'TIER_NOT_FOUND' },
    });
  });

  it('shows the health of all bindings', async () => {
    expect(await bus.ask('GET', 'health')).toMatchObject({
      status: 200,
      body: { status: 'UP', isShuttingDown: false, bindings: [{ name: 'orders', status: 'UP' }] },
    });
  });

  it('unregisters a binding, and registers it again with its declared handler', async () => {
    bus.isCured = true;
    expect(await bus.ask('DELETE', 'bindings/orders')).toMatchObject({ status: 204, text: '' });
    expect(await bus.ask('GET', 'bindings/orders')).toMatchObject({ status: 404 });
    const body = { name: 'orders', topic: 'orders', groupId: 'shop', provisioning: 'create' };
    expect(await bus.ask('POST', 'bindings', { body })).toMatchObject({
      status: 201,
      headers: { location: '/eventbus/bindings/orders' },
      body: { name: 'orders', state: 'RUNNING', lastCommand: { by: 'ann' } },
    });
    await bus.runtime.advance(1_000);
    await bus.write('orders', '1');
    await bus.runtime.advance(1_000);
    expect(bus.handled).toEqual([1]);
  });

  it('registers a binding with the handler of another one', async () => {
    bus.isCured = true;
    await bus.topic('more');
    const body = { name: 'more', handler: 'orders', topic: 'more', groupId: 'shop-more' };
    expect(await bus.ask('POST', 'bindings', { body })).toMatchObject({ status: 201 });
    await bus.runtime.advance(1_000);
    await bus.write('more', '5');
    await bus.runtime.advance(1_000);
    expect(bus.handled).toEqual([5]);
  });

  it('refuses a registration that exists, is wrong, or has no handler', async () => {
    const orders = { name: 'orders', topic: 'orders', groupId: 'shop' };
    for (const [body, status, code] of [
      [orders, 409, 'BINDING_ALREADY_EXISTS'],
      [
        { ...orders, name: 'new', handler: 'orders', concurrencyy: 2 },
        400,
        'CONFIGURATION_INVALID',
      ],
      [{ ...orders, name: 'new', topic: 7 }, 400, 'INVALID_ADMIN_REQUEST'],
      [{ name: 'new', groupId: 'x' }, 400, 'INVALID_ADMIN_REQUEST'],
      [{ ...orders, name: 'new', groupId: 'new' }, 422, 'HANDLER_NOT_FOUND'],
      [{ ...orders, name: 'new', handler: 'ordres' }, 400, 'CONFIGURATION_INVALID'],
    ] as const)
      expect({ sent: body, ...(await bus.ask('POST', 'bindings', { body })) }).toMatchObject({
        status,
        body: { code },
      });
  });

  it('decides about a record for which a partition waits', async () => {
    expect(
      await bus.ask('POST', 'bindings/orders/decisions', {
        body: { topic: 'orders', partition: 0, decision: 'skip' },
      }),
    ).toMatchObject({ status: 409, body: { code: 'NO_RECORD_WAITS' } });
  });
});
