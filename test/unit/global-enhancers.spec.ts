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

// `npm run test:pack` runs this file in its applications too: what it promises hangs on parts that Nest keeps to itself.

@Injectable()
class Failing {
  @EventHandler('orders')
  handle(): void {
    throw new Error('the database is gone');
  }
}

const recovering: NestInterceptor = {
  intercept: (_: ExecutionContext, next: CallHandler) =>
    next.handle().pipe(catchError(() => of('recovered'))),
};

const answering: NestInterceptor = { intercept: () => of('cached') };

const breaking: CanActivate = {
  canActivate: (context) =>
    context.switchToHttp().getRequest<{ user: { isAdmin: boolean } }>().user.isAdmin,
};

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 500 && !(await isSo()); tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
};

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
  await app.get(EventPublisher).publish('orders', { id: 1 });
  return {
    app,
    deadLetters: async () => (await admin.watermarks('orders.DLT'))[0]?.high,
    committed: async () => (await admin.groupOffsets('shop'))[0]?.offset ?? 0,
  };
}

describe("with enhancers: 'all'", () => {
  it('a record whose failure a global interceptor swallows is dead-lettered', async () => {
    const { app, deadLetters } = await startWith({
      provide: APP_INTERCEPTOR,
      useValue: recovering,
    });
    await until(async () => (await deadLetters()) === 1);
    expect(await deadLetters()).toBe(1);
    await app.close();
  });

  it.each<[string, Provider]>([
    [
      'an interceptor that answers in the place of the handler',
      { provide: APP_INTERCEPTOR, useValue: answering },
    ],
    ['a guard that breaks on it', { provide: APP_GUARD, useValue: breaking }],
  ])('a record that is kept from its handler by %s waits', async (_name, provider) => {
    const { app, deadLetters, committed } = await startWith(provider);
    const health = () => app.get(EventBusConnector).health().bindings[0];
    await until(() => health()?.status === 'DEGRADED');
    expect(health()?.reasons).toEqual(['eventbus-orders: orders-0 waits (backoff)']);
    expect([await committed(), await deadLetters()]).toEqual([0, 0]);
    await app.close();
  });
});
