import { memory } from '@nest-event-bus/broker/memory';
import {
  EventBusConnector,
  EventBusModule,
  EventHandler,
  EventPublisher,
} from '@nest-event-bus/core';
import {
  Injectable,
  Module,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type Provider,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { catchError, of } from 'rxjs';

// Runs also in the applications of `npm run test:pack`, because it depends on internals of Nest.

@Injectable()
class Failing {
  @EventHandler('orders')
  handle(): void {
    throw new Error('the database is gone');
  }
}

const recoveringInterceptor: NestInterceptor = {
  intercept: (_: ExecutionContext, next: CallHandler) =>
    next.handle().pipe(catchError(() => of('recovered'))),
};

const answeringInterceptor: NestInterceptor = { intercept: () => of('cached') };

const throwingGuard: CanActivate = {
  canActivate: (context) =>
    context.switchToHttp().getRequest<{ user: { isAdmin: boolean } }>().user.isAdmin,
};

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 500 && !(await isSo()); tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
};

const applications: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const application of applications.splice(0)) await application.close();
});

async function startWith(provider: Provider) {
  const driver = memory();
  const admin = driver.admin();
  await admin.createTopics(['orders', 'orders.DLT'].map((name) => ({ name, partitions: 1 })));
  const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
  const orders = { topic: 'orders', groupId: 'shop', enhancers: 'all', retry } as const;

  @Module({
    imports: [EventBusModule.forRoot({ driver, bindings: { orders } })],
    providers: [Failing, provider],
  })
  class AppModule {}

  const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = await testing.init();
  applications.push(app);
  await app.get(EventPublisher).publish('orders', { id: 1 });
  return {
    app,
    deadLetters: async () => (await admin.watermarks('orders.DLT'))[0]?.high,
    committed: async () => (await admin.groupOffsets('shop'))[0]?.offset ?? 0,
  };
}

describe("With enhancers: 'all'", () => {
  it('a record is dead-lettered even if a global interceptor swallows its failure', async () => {
    const { deadLetters } = await startWith({
      provide: APP_INTERCEPTOR,
      useValue: recoveringInterceptor,
    });
    await until(async () => (await deadLetters()) === 1);
    expect(await deadLetters()).toBe(1);
  });

  it.each<[string, Provider]>([
    [
      'an interceptor returns a result without a call of the handler',
      { provide: APP_INTERCEPTOR, useValue: answeringInterceptor },
    ],
    ['a guard throws', { provide: APP_GUARD, useValue: throwingGuard }],
  ])('a record is neither committed nor dead-lettered if %s', async (_name, provider) => {
    const { app, deadLetters, committed } = await startWith(provider);
    const health = () => app.get(EventBusConnector).health().bindings[0];
    await until(() => health()?.status === 'DEGRADED');
    const reasons = health()?.reasons ?? [];
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatch(/^eventbus-orders: orders-0 waits \(backoff\)/);
    expect([await committed(), await deadLetters()]).toEqual([0, 0]);
  });
});
