import { Test } from '@nestjs/testing';
import type { CanActivate } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { EventBusAdmin } from '../../src/admin/event-bus-admin.js';
import type { EventBusAdminModuleOptions } from '../../src/admin/http/admin-options.js';
import { EventBusAdminController } from '../../src/admin/http/event-bus-admin.controller.js';
import { ShutdownCoordinator } from '../../src/containers/shutdown/shutdown-coordinator.js';
import { EventBusAdminModule } from '../../src/admin/http/event-bus-admin.module.js';
import { adminRightOf } from '../../src/admin/http/route-controller.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';
import { AdminTestBus, OperatorGuard } from './admin-test-bus.spec-support.js';

const refused = { code: 'CONFIGURATION_INVALID' };

describe('EventBusAdminModule.register()', () => {
  it.each<[string, object]>([
    ['without access', {}],
    ['with an empty list of guards', { access: { guards: [] } }],
    ['with a guard that is undefined', { access: { guards: [undefined] } }],
    ['with an access that it does not know', { access: 'open' }],
    ['with a right that it does not know', { access: 'unguarded', allow: ['write'] }],
    ['with an option that it does not know', { access: 'unguarded', rights: [] }],
    ['with an origin that is none', { access: { guards: [OperatorGuard], trustedOrigins: ['x'] } }],
    ['with a controller of another kind', { access: 'unguarded', controller: OperatorGuard }],
  ])('refuses options %s', (_name, options) => {
    const register = (): unknown =>
      EventBusAdminModule.register(options as EventBusAdminModuleOptions);
    expect(register).toThrow(expect.objectContaining(refused));
  });

  it('refuses to start with global guards if there are none', async () => {
    const bus = new TestBus();
    const admin = EventBusAdminModule.register({ access: 'global-guards' });
    const starting = bus.startHttp({ imports: [bus.module({}), admin] }, () => undefined);
    expect(await errorOf(starting)).toMatchObject(refused);
    await bus.end();
  });

  it('starts with a global guard, and warns if nothing guards it', async () => {
    const guarded = await AdminTestBus.started({ access: 'global-guards' }, {}, (application) =>
      application.useGlobalGuards(new OperatorGuard()),
    );
    expect(await guarded.ask('GET', 'health')).toMatchObject({ status: 200 });
    await guarded.end();
    const open = await AdminTestBus.started({ access: 'unguarded' });
    expect(open.log.warnings.join('\n')).toContain('The admin API is unguarded');
    await open.end();
  });

  it('accepts a guard that is provided as APP_GUARD', async () => {
    const bus = new TestBus();
    const admin = EventBusAdminModule.register({ access: 'global-guards' });
    const guard = { provide: APP_GUARD, useClass: OperatorGuard };
    await bus.startHttp({ imports: [bus.module({}), admin], providers: [guard] }, () => undefined);
    await bus.end();
  });
});

describe('The access to the admin API', () => {
  let bus: AdminTestBus;
  afterEach(() => bus.end());

  it('is refused by the guard for every route, as problem details', async () => {
    bus = await AdminTestBus.started({ access: { guards: [NobodyGuard] } });
    for (const path of ['health', 'bindings', 'openapi.json', 'bindings/none'])
      expect(await bus.ask('GET', path)).toMatchObject({
        status: 403,
        headers: { 'content-type': expect.stringContaining('problem+json') as unknown },
        body: { code: 'FORBIDDEN', title: 'Forbidden' },
      });
  });

  it('has the rights read, control and redrive by default', async () => {
    bus = await AdminTestBus.started({ allow: undefined });
    const body = { name: 'x', topic: 'x' };
    for (const [method, path, right] of [
      ['DELETE', 'bindings/orders/dlt?olderThan=1d', 'purge'],
      ['GET', 'bindings/orders/dlt/letters/0/0/payload', 'payload'],
      ['POST', 'bindings/orders/dlt/letters/0/0/edit', 'edit'],
      ['POST', 'bindings', 'register'],
      ['DELETE', 'bindings/orders', 'register'],
    ] as const)
      expect(await bus.ask(method, path, { body })).toMatchObject({
        status: 403,
        body: {
          code: 'RIGHT_NOT_ALLOWED',
          detail: expect.stringContaining(`'${right}'`) as unknown,
        },
      });
    expect(await bus.ask('GET', 'bindings')).toMatchObject({ status: 200 });
    expect(await bus.ask('POST', 'bindings/orders/pause')).toMatchObject({ status: 200 });
    expect(await bus.ask('POST', 'bindings/orders/dlt/replay?count=1')).toMatchObject({
      status: 200,
    });
  });

  it.each<[number, Record<string, string>]>([
    [403, { 'sec-fetch-site': 'cross-site' }],
    [403, { 'sec-fetch-site': 'same-site', origin: 'https://evil.example.com' }],
    [403, { origin: 'https://evil.example.com' }],
    [403, { origin: 'null' }],
    [200, { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example.com' }],
    [200, { 'sec-fetch-site': 'none' }],
    [200, { 'sec-fetch-site': 'cross-site', origin: 'https://ops.example.com' }],
    [200, {}],
  ])('answers %s to a command with the headers %j', async (status, headers) => {
    const trustedOrigins = ['https://ops.example.com'];
    bus = await AdminTestBus.started({ access: { guards: [OperatorGuard], trustedOrigins } });
    const answer = await bus.ask('POST', 'bindings/orders/pause', { headers });
    expect(answer).toMatchObject({ status });
    if (status === 403) expect(answer.body).toMatchObject({ code: 'CROSS_SITE_REQUEST' });
    const state = status === 200 ? 'PAUSED' : 'RUNNING';
    expect(await bus.ask('GET', 'bindings/orders', { headers })).toMatchObject({
      status: 200,
      body: { state },
    });
  });

  it('compares the origin with the host if the browser sends no Sec-Fetch-Site', async () => {
    bus = await AdminTestBus.started();
    const host = `127.0.0.1:${bus.port}`;
    const headers = { origin: `http://${host}`, host };
    expect(await bus.ask('POST', 'bindings/orders/pause', { headers })).toMatchObject({
      status: 200,
    });
  });

  it('applies the decorators of a class that extends the controller', async () => {
    class Ops extends EventBusAdminController {}
    bus = await AdminTestBus.started({ controller: Ops, path: 'ops/bus' });
    expect(await bus.done(bus.send('GET', '/ops/bus/health'))).toMatchObject({ status: 200 });
  });

  it('tells a guard the right that the route needs', async () => {
    bus = await AdminTestBus.started({ access: { guards: [new ReaderGuard()] } });
    expect(await bus.ask('GET', 'bindings')).toMatchObject({ status: 200 });
    expect(await bus.ask('POST', 'bindings/orders/pause')).toMatchObject({ status: 403 });
  });
});

describe('A command during a shutdown', () => {
  it('is refused with 503, whatever it is about, and reading goes on', async () => {
    const bus = await AdminTestBus.started();
    const shutdown = bus.application.get(ShutdownCoordinator, { strict: false });
    await bus.done(shutdown.drain());
    const answers = [
      await bus.ask('POST', 'bindings/orders/pause'),
      await bus.ask('POST', 'bindings/none/start'),
      await bus.ask('POST', 'bindings/orders/dlt/operations', { body: { all: true } }),
      await bus.ask('DELETE', 'bindings/orders/dlt?olderThan=1d'),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 503, body: { code: 'EVENT_BUS_SHUTTING_DOWN' } });
    expect(await bus.ask('GET', 'health')).toMatchObject({
      status: 200,
      body: { isShuttingDown: true },
    });
    await bus.end();
  });
});

describe('EventBusAdmin without the REST API', () => {
  it('is exported by EventBusModule', async () => {
    const bus = new TestBus();
    const module = await Test.createTestingModule({ imports: [bus.module({})] }).compile();
    expect(module.get(EventBusAdmin)).toBeInstanceOf(EventBusAdmin);
    await bus.end();
  });
});

class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class ReaderGuard implements CanActivate {
  canActivate(context: { getHandler(): object }): boolean {
    return adminRightOf(context.getHandler()) === 'read';
  }
}
