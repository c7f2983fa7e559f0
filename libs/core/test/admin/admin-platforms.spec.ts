import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { EventBusAdminModule } from '../../src/admin/http/event-bus-admin.module.js';
import { ADMIN_ROUTES } from '../../src/admin/api/routes/admin-routes.js';
import { TestBus } from '../support/test-bus.spec-support.js';
import { AdminTestBus, sendTo } from './admin-test-bus.spec-support.js';

type Operations = Record<string, Record<string, { operationId: string; summary: string }>>;

function operationsOf(paths: Operations): readonly string[] {
  return Object.values(paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
}

describe('The OpenAPI document', () => {
  let bus: AdminTestBus;
  afterEach(() => bus.end());

  it('has every route below the path under which it was asked for', async () => {
    bus = await AdminTestBus.started({}, {}, (application) => application.setGlobalPrefix('api'));
    const { body } = await bus.done(bus.send('GET', '/api/eventbus/openapi.json'));
    const paths = body['paths'] as Operations;
    expect(body['openapi']).toBe('3.1.0');
    expect(operationsOf(paths).toSorted()).toEqual(
      [...Object.keys(ADMIN_ROUTES), 'getOpenApi'].toSorted(),
    );
    expect(paths['/api/eventbus/bindings/{name}/pause']!['post']).toMatchObject({
      operationId: 'pauseBinding',
      responses: { 200: {}, 400: {}, 403: {}, 404: {}, 409: {}, 503: {} },
    });
  });

  it('refers only to components that it has', async () => {
    bus = await AdminTestBus.started();
    const { body, text } = await bus.ask('GET', 'openapi.json');
    const { schemas } = body['components'] as { schemas: object };
    const referred = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(referred.length).toBeGreaterThan(20);
    expect(referred.filter((name) => !Object.hasOwn(schemas, name ?? ''))).toEqual([]);
  });

  it('of @nestjs/swagger includes the routes with their schemas', async () => {
    bus = await AdminTestBus.started();
    const { application } = bus;
    const document = SwaggerModule.createDocument(application, new DocumentBuilder().build());
    const paths = document.paths as unknown as Operations;
    expect(operationsOf(paths)).toEqual(
      expect.arrayContaining([...Object.keys(ADMIN_ROUTES), 'getOpenApi']),
    );
    expect(document.paths['/eventbus/bindings/{name}/dlt/operations']!.post).toMatchObject({
      summary: ADMIN_ROUTES.createOperation.summary,
      requestBody: {
        content: {
          'application/json': { schema: { properties: { dryRun: { type: 'boolean' } } } },
        },
      },
      responses: { 202: { content: { 'application/json': { schema: { type: 'object' } } } } },
    });
  });
});

describe('The admin API on Fastify', () => {
  it('answers, refuses and streams as on Express', async () => {
    const bus = new TestBus();
    await bus.topic('orders');
    const orders = { topic: 'orders', groupId: 'shop', provisioning: 'create' as const };
    const module = await Test.createTestingModule({
      imports: [
        bus.module({ bindings: { orders }, bindingsWithoutHandler: 'allow' }),
        EventBusAdminModule.register({ access: 'unguarded', allow: ['read', 'redrive'] }),
      ],
    })
      .setLogger(bus.log)
      .compile();
    const application = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    await bus.done(application.init());
    await application.listen(0, '127.0.0.1');
    const ask = (method: string, path: string, body?: object) =>
      bus.done(sendTo(application, method, `/eventbus/${path}`, { body }));
    expect((await ask('GET', 'bindings')).body).toMatchObject({
      bindings: [],
      published: [{ name: 'orders' }],
    });
    const refused = await ask('POST', 'bindings/orders/pause');
    expect(refused).toMatchObject({ status: 403, body: { code: 'RIGHT_NOT_ALLOWED' } });
    expect(refused.headers['content-type']).toContain('application/problem+json');
    await bus.topic('orders.DLT');
    const operations = 'bindings/orders/dlt/operations';
    expect(await ask('POST', operations, { id: 'a', all: true })).toMatchObject({
      status: 202,
      headers: { location: `/eventbus/${operations}/a` },
    });
    const events = await ask('GET', `${operations}/a/events`);
    expect(events.headers['content-type']).toContain('text/event-stream');
    expect(events.text).toContain('"state":"completed"');
    expect((await ask('GET', 'bindings/orders?cluster=a&cluster=b')).status).toBe(400);
    await bus.done(application.close());
    await bus.end();
  });
});
