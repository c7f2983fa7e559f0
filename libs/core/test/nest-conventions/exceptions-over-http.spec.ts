import {
  Controller,
  Get,
  Inject,
  Param,
  Post,
  UseFilters,
  type INestApplication,
} from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { NonRetryableException } from '../../src/errors/retry-errors.js';
import { EventBusExceptionFilter } from '../../src/nest/event-bus-exception.filter.js';
import { httpRequest, type HttpAnswer } from '../support/http-request.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';

class Orders {
  @EventHandler('orders')
  handle(): void {}
}

@Controller()
@UseFilters(EventBusExceptionFilter)
class OperatorController {
  constructor(
    @Inject(EventBusConnector) private readonly connector: EventBusConnector,
    @Inject(LifecycleManager) private readonly lifecycle: LifecycleManager,
  ) {}

  @Post('bindings/:name/start')
  start(@Param('name') name: string) {
    return this.connector.start(name);
  }

  @Get('bindings/:name')
  state(@Param('name') name: string) {
    return this.connector.getState(name);
  }

  @Post('bindings/:name/tiers/:tier/pause')
  pauseTier(@Param('name') name: string, @Param('tier') tier: string) {
    return this.lifecycle.pauseTier(name, Number(tier));
  }

  @Get('published')
  published() {
    return this.connector.listPublishedBindings();
  }

  @Get('failing')
  failing(): never {
    throw new NonRetryableException('a secret of the application');
  }
}

describe('EventBusExceptionFilter', () => {
  let bus: TestBus;
  let application: INestApplication;

  beforeEach(async () => {
    bus = new TestBus();
    for (const topic of ['orders', 'audit']) await bus.topic(topic);
    const retry = { tiers: [] };
    const bindings = {
      orders: { topic: 'orders', groupId: 'shop', retry },
      audit: { topic: 'audit', groupId: 'shop-audit', retry },
    };
    application = await bus.startHttp(
      {
        imports: [bus.module({ bindings, bindingsWithoutHandler: 'allow' })],
        providers: [Orders],
        controllers: [OperatorController],
      },
      () => undefined,
    );
    await application.listen(0, '127.0.0.1');
  });
  afterEach(() => bus.end());

  const ask = (method: string, path: string): Promise<HttpAnswer> =>
    bus.done(httpRequest(application, method, path));

  it('answers 404 for an unknown binding, and names the one that is meant', async () => {
    expect(await ask('POST', '/bindings/ordres/start')).toEqual({
      status: 404,
      body: {
        statusCode: 404,
        code: 'BINDING_NOT_FOUND',
        message: "There is no binding 'ordres'. Did you mean 'orders'?",
      },
    });
  });

  it('answers 404 for an unknown retry tier', async () => {
    expect(await ask('POST', '/bindings/orders/tiers/7/pause')).toMatchObject({
      status: 404,
      body: { code: 'TIER_NOT_FOUND' },
    });
  });

  it('answers 409 for a command that does not fit the state', async () => {
    expect(await ask('POST', '/bindings/orders/start')).toMatchObject({
      status: 409,
      body: { code: 'INVALID_CONTAINER_STATE' },
    });
  });

  it('answers 409 for a binding to which the application only publishes', async () => {
    expect(await ask('GET', '/bindings/audit')).toMatchObject({
      status: 409,
      body: {
        code: 'BINDING_NOT_CONSUMED',
        message: expect.stringContaining("write a method with @EventHandler('audit')") as unknown,
      },
    });
    expect(await ask('GET', '/published')).toEqual({
      status: 200,
      body: [{ binding: 'audit', cluster: 'default', topic: 'audit' }],
    });
  });

  it('suggests a binding to which the application only publishes', async () => {
    expect(await ask('GET', '/bindings/audti')).toMatchObject({
      status: 404,
      body: { message: "There is no binding 'audti'. Did you mean 'audit'?" },
    });
  });

  it('leaves other exceptions internal errors without a message', async () => {
    expect(await ask('GET', '/failing')).toEqual({
      status: 500,
      body: { statusCode: 500, message: 'Internal server error' },
    });
  });
});
