import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { EventBusModule, EventHandler } from '@nest-event-bus/core';
import {
  Global,
  Inject,
  Injectable,
  Module,
  Scope,
  UseGuards,
  type CanActivate,
  type DynamicModule,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';

// `npm run test:pack` runs this file in its applications too: under Nest 11 and 12, in Jest and Vitest.

/** A dependency of a handler that closes in its destroy hook. */
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
  constructor(@Inject(Database) private readonly database: Database) {}

  @EventHandler('orders')
  async handle(): Promise<void> {
    entered.resolve();
    await finish.promise;
    seen.push(this.database.isOpen);
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestScopedHandlers extends Handlers {}

@Injectable()
class DatabaseGuard implements CanActivate {
  constructor(@Inject(Database) private readonly database: Database) {}

  canActivate(): boolean {
    return this.database.isOpen;
  }
}

@Injectable()
@UseGuards(DatabaseGuard)
class GuardedHandlers {
  @EventHandler('orders')
  async handle(): Promise<void> {
    entered.resolve();
    await finish.promise;
  }
}

@Module({ providers: [Database], exports: [Database] })
class DatabaseModule {}

@Global()
@Module({ providers: [Database], exports: [Database] })
class GlobalDatabaseModule {}

class HandlersModule {}

class Root {}

type HandlersClass = Type<{ handle(): Promise<void> }>;
type Parts = Pick<DynamicModule, 'imports' | 'providers'>;

interface Layout {
  readonly name: string;
  readonly isGlobal: boolean;
  readonly root: (bus: DynamicModule, handlers: HandlersClass) => Parts;
}

const moduleOf = (parts: Parts): DynamicModule => ({ module: HandlersModule, ...parts });

const withDatabase = (handlers: HandlersClass): DynamicModule =>
  moduleOf({ imports: [DatabaseModule], providers: [handlers] });

const layouts: readonly Layout[] = [
  {
    name: 'a global bus before the database',
    isGlobal: true,
    root: (bus, handlers) => ({ imports: [bus, DatabaseModule, withDatabase(handlers)] }),
  },
  {
    name: 'a global bus after the database',
    isGlobal: true,
    root: (bus, handlers) => ({ imports: [DatabaseModule, withDatabase(handlers), bus] }),
  },
  {
    name: 'a local bus before the database',
    isGlobal: false,
    root: (bus, handlers) => ({ imports: [bus, DatabaseModule, withDatabase(handlers)] }),
  },
  {
    name: 'a local bus after the database',
    isGlobal: false,
    root: (bus, handlers) => ({ imports: [DatabaseModule, withDatabase(handlers), bus] }),
  },
  {
    name: 'a global database',
    isGlobal: true,
    root: (bus, handlers) => ({
      imports: [bus, GlobalDatabaseModule, moduleOf({ providers: [handlers] })],
    }),
  },
  {
    name: 'a global database and a local bus',
    isGlobal: false,
    root: (bus, handlers) => ({
      imports: [GlobalDatabaseModule, moduleOf({ providers: [handlers] }), bus],
    }),
  },
  {
    name: 'handlers in the root, the database in its module',
    isGlobal: true,
    root: (bus, handlers) => ({ imports: [bus, DatabaseModule], providers: [handlers] }),
  },
  {
    name: 'handlers and database in the root',
    isGlobal: true,
    root: (bus, handlers) => ({ imports: [bus], providers: [Database, handlers] }),
  },
  {
    name: 'the database in the module of its handlers',
    isGlobal: true,
    root: (bus, handlers) => ({ imports: [bus, moduleOf({ providers: [handlers, Database] })] }),
  },
];

describe('The shutdown of an application', () => {
  let driver: BrokerDriver;

  beforeEach(async () => {
    entered = new Deferred();
    finish = new Deferred();
    seen = [];
    driver = memory();
    await driver.admin().createTopics([{ name: 'orders', partitions: 1 }]);
    await driver.producer().send([{ topic: 'orders', value: '{}' }]);
  });

  const startApplication = async ({ isGlobal, root }: Layout, handlers: HandlersClass) => {
    const bindings = { orders: { topic: 'orders', groupId: 'shop' } };
    const bus = EventBusModule.forRoot({ isGlobal, driver, bindings });
    const warnings: string[] = [];
    const nothing = (): void => undefined;
    const testing = await Test.createTestingModule({
      imports: [{ module: Root, ...root(bus, handlers) }],
    })
      .setLogger({
        log: nothing,
        error: nothing,
        debug: nothing,
        warn: (message: string) => void warnings.push(message),
      })
      .compile();
    return { app: await testing.init(), warnings };
  };

  /** Closes the application while a handler is running. */
  const closeUnderWay = async (layout: Layout, handlers: HandlersClass = Handlers) => {
    const { app, warnings } = await startApplication(layout, handlers);
    const database = app.get(Database, { strict: false });
    await entered.promise;
    const closing = app.close();
    await new Promise((resolve) => setImmediate(resolve));
    const wasOpen = database.isOpen;
    finish.resolve();
    await closing;
    expect(database.isOpen).toBe(false);
    return { wasOpen, warnings: warnings.filter((text) => text.includes('onModuleDestroy')) };
  };

  for (const handlers of [Handlers, RequestScopedHandlers, GuardedHandlers]) {
    for (const layout of layouts) {
      it(`keeps what ${handlers.name} use open until they have ended: ${layout.name}`, async () => {
        await expect(closeUnderWay(layout, handlers)).resolves.toEqual({
          wasOpen: true,
          warnings: [],
        });
        expect(seen).toEqual(handlers === GuardedHandlers ? [] : [true]);
      });
    }
  }

  it('is preceded by a warning at start if a dependency is frozen, because no hook can be added', async () => {
    @Injectable()
    class FrozenDatabase extends Database {
      constructor() {
        super();
        Object.freeze(this);
      }
      override onModuleDestroy(): void {}
    }
    const provided = { provide: Database, useClass: FrozenDatabase };
    const { app, warnings } = await startApplication(
      {
        name: 'frozen',
        isGlobal: true,
        root: (bus, handlers) => ({ imports: [bus], providers: [provided, handlers] }),
      },
      RequestScopedHandlers,
    );
    finish.resolve();
    await app.close();
    expect(warnings.filter((text) => text.includes('onModuleDestroy'))).toHaveLength(1);
  });
});
