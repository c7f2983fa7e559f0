import { DeadEventManager, OutboxWriter } from '@nest-event-bus/outbox';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { OutboxAdmin } from './admin/outbox-admin.js';
import { OutboxHealth } from './health/outbox-health.js';
import { Inbox } from './inbox/inbox.js';
import { ListenerExplorer } from './listener-explorer.js';
import {
  OUTBOX_OPTIONS,
  type OutboxModuleAsyncOptions,
  type OutboxModuleExtras,
  type OutboxModuleOptions,
} from './outbox-options.js';
import { OutboxRuntime } from './outbox-runtime.js';
import { OutboxTransactions } from './transactions/outbox-transactions.js';

const providers: readonly Provider[] = [
  ListenerExplorer,
  OutboxRuntime,
  {
    provide: OutboxWriter,
    useFactory: (runtime: OutboxRuntime) => runtime.writer,
    inject: [OutboxRuntime],
  },
  {
    provide: OutboxTransactions,
    useFactory: (runtime: OutboxRuntime) => runtime.transactions,
    inject: [OutboxRuntime],
  },
  {
    provide: Inbox,
    useFactory: (runtime: OutboxRuntime) => runtime.inbox,
    inject: [OutboxRuntime],
  },
  {
    provide: OutboxAdmin,
    useFactory: (runtime: OutboxRuntime) => runtime.admin,
    inject: [OutboxRuntime],
  },
  {
    provide: OutboxHealth,
    useFactory: (runtime: OutboxRuntime) => runtime.health,
    inject: [OutboxRuntime],
  },
  {
    provide: DeadEventManager,
    useFactory: (runtime: OutboxRuntime) => runtime.deadEvents,
    inject: [OutboxRuntime],
  },
];

/** The outbox of an application. Inject OutboxWriter, OutboxTransactions and DeadEventManager. */
@Module({})
export class OutboxModule {
  static forRoot({
    isGlobal,
    ...options
  }: OutboxModuleOptions & OutboxModuleExtras): DynamicModule {
    return moduleWith({ provide: OUTBOX_OPTIONS, useValue: options }, { isGlobal });
  }

  static forRootAsync({ imports, isGlobal, ...factory }: OutboxModuleAsyncOptions): DynamicModule {
    return moduleWith({ provide: OUTBOX_OPTIONS, ...factory }, { isGlobal }, imports);
  }
}

function moduleWith(
  options: Provider,
  { isGlobal = true }: OutboxModuleExtras,
  imports: OutboxModuleAsyncOptions['imports'] = [],
): DynamicModule {
  return {
    module: OutboxModule,
    global: isGlobal,
    imports: [DiscoveryModule, ...imports],
    providers: [options, ...providers],
    exports: [
      OutboxWriter,
      OutboxTransactions,
      DeadEventManager,
      Inbox,
      OutboxAdmin,
      OutboxHealth,
      OutboxRuntime,
    ],
  };
}
