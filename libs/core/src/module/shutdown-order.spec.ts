import { memory } from '@nest-event-bus/broker/memory';
import type { BrokerDriver } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import {
  Global,
  Injectable,
  Module,
  type DynamicModule,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { EventHandler } from '../discovery/event-handler.js';
import { EventBusModule } from './event-bus.module.js';

/** What a handler depends on, and what closes when Nest says so. */
@Injectable()
class Database implements OnModuleDestroy {
  isOpen = true;
  onModuleDestroy(): void {
    this.isOpen = false;
  }
}

let entered: Deferred;
let finish: Deferred;
let seen: boolean[];

@Injectable()
class Handlers {
  constructor(private readonly database: Database) {}

  @EventHandler('orders')
  async handle(): Promise<void> {
    entered.resolve();
    await finish.promise;
    seen.push(this.database.isOpen);
  }
}

@Module({ providers: [Database], exports: [Database] })
class DatabaseModule {}

@Global()
@Module({ providers: [Database], exports: [Database] })
class GlobalDatabaseModule {}

@Module({ imports: [DatabaseModule], providers: [Handlers] })
class HandlersModule {}

@Module({ providers: [Handlers] })
class HandlersOfGlobalDatabase {}

@Module({ providers: [Handlers, Database] })
class HandlersWithDatabase {}

type Layout = (bus: DynamicModule) => Pick<DynamicModule, 'imports' | 'providers'>;

const layouts: readonly (readonly [string, { isGlobal: boolean }, Layout])[] = [
  [
    'a global bus before the database',
    { isGlobal: true },
    (bus) => ({ imports: [bus, DatabaseModule, HandlersModule] }),
  ],
  [
    'a global bus after the database',
    { isGlobal: true },
    (bus) => ({ imports: [DatabaseModule, HandlersModule, bus] }),
  ],
  [
    'a local bus before the database',
    { isGlobal: false },
    (bus) => ({ imports: [bus, DatabaseModule, HandlersModule] }),
  ],
  [
    'a local bus after the database',
    { isGlobal: false },
    (bus) => ({ imports: [DatabaseModule, HandlersModule, bus] }),
  ],
  [
    'a global database',
    { isGlobal: true },
    (bus) => ({ imports: [bus, GlobalDatabaseModule, HandlersOfGlobalDatabase] }),
  ],
  [
    'a global database and a local bus',
    { isGlobal: false },
    (bus) => ({ imports: [GlobalDatabaseModule, HandlersOfGlobalDatabase, bus] }),
  ],
  [
    'handlers in the root, the database in its module',
    { isGlobal: true },
    (bus) => ({ imports: [bus, DatabaseModule], providers: [Handlers] }),
  ],
  [
    'handlers and database in the root',
    { isGlobal: true },
    (bus) => ({ imports: [bus], providers: [Database, Handlers] }),
  ],
  [
    'the database in the module of its handlers',
    { isGlobal: true },
    (bus) => ({ imports: [bus, HandlersWithDatabase] }),
  ],
];

describe('a handler that runs while the application closes still finds its database open', () => {
  let driver: BrokerDriver;

  beforeEach(async () => {
    entered = new Deferred();
    finish = new Deferred();
    seen = [];
    driver = memory();
    await driver.admin().createTopics([{ name: 'orders', partitions: 1 }]);
    await driver.producer().send([{ topic: 'orders', value: '{}' }]);
  });

  it.each(layouts)('%s', async (_name, { isGlobal }, layout) => {
    const bus = EventBusModule.forRoot({
      isGlobal,
      driver,
      bindings: { orders: { topic: 'orders', groupId: 'shop' } },
    });
    class Root {}
    const root: DynamicModule = { module: Root, ...layout(bus) };
    const testing = await Test.createTestingModule({ imports: [root] }).compile();
    const app = await testing.init();
    const database = app.get(Database, { strict: false });
    await entered.promise;
    const closing = app.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(database.isOpen).toBe(true);
    finish.resolve();
    await closing;
    expect(seen).toEqual([true]);
    expect(database.isOpen).toBe(false);
  });
});
