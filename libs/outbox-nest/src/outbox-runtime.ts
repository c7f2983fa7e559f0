import {
  AggregateType,
  DeadEventManager,
  DefaultListenerRegistry,
  type Outbox,
  type OutboxPurgeScheduler,
  type OutboxWriter,
} from '@nest-event-bus/outbox';
import type { PostgresWake } from '@nest-event-bus/outbox-sql';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { OutboxAdmin } from './admin/outbox-admin.js';
import {
  type OutboxBasis,
  buildOutbox,
  buildPurges,
  connectionsOf,
  storeOf,
} from './build-outbox.js';
import { buildWake } from './build-wake.js';
import { OutboxHealth, type OutboxState } from './health/outbox-health.js';
import { HostedOutboxWriter } from './hosted-outbox-writer.js';
import { Inbox } from './inbox/inbox.js';
import { ineffectiveOptions } from './ineffective-options.js';
import { ListenerExplorer } from './listener-explorer.js';
import { OUTBOX_OPTIONS, type OutboxModuleOptions } from './outbox-options.js';
import { OutboxTransactions } from './transactions/outbox-transactions.js';

/** Starts the outbox when all listeners are known, and closes it before the producers close. */
@Injectable()
export class OutboxRuntime implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly transactions = new OutboxTransactions();
  readonly writer: OutboxWriter;
  readonly deadEvents: DeadEventManager;
  readonly #basis: OutboxBasis & { readonly registry: DefaultListenerRegistry };
  readonly #wake: PostgresWake | undefined;
  readonly health: OutboxHealth;
  readonly admin: OutboxAdmin;
  readonly inbox: Inbox;
  #state: OutboxState = 'starting';
  #outbox: Outbox | undefined;
  #purges: readonly OutboxPurgeScheduler[] = [];

  constructor(
    @Inject(OUTBOX_OPTIONS) private readonly options: OutboxModuleOptions,
    @Inject(ListenerExplorer) private readonly explorer: ListenerExplorer,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    const logger = new Logger('Outbox');
    for (const line of ineffectiveOptions(options)) logger.warn(line);
    const store = storeOf(options);
    const connectionProvider = connectionsOf(options);
    const txContext = this.transactions.context;
    const registry = new DefaultListenerRegistry();
    this.#basis = { store, connectionProvider, txContext, registry, logger };
    const lockKeys = options.mode === 'leased' && options.leased?.order !== 'none';
    this.#wake = buildWake(options, store, logger);
    const wake = this.#wake;
    this.writer = new HostedOutboxWriter(txContext, {
      store,
      options: { logger, lockKeys },
      started: () => this.#outbox,
      headers: options.headers,
      onCommit: wake && (() => wake.notify()),
    });
    this.transactions.useWriter(() => this.writer);
    this.deadEvents = new DeadEventManager(connectionProvider, store, { logger });
    this.inbox = new Inbox(this.transactions, options.inbox);
    this.admin = new OutboxAdmin({
      ...{ connectionProvider, store, logger },
      wake: () => this.#outbox?.wake(),
      onCommand: options.onCommand,
    });
    const dispatches = options.mode !== 'writerOnly';
    this.health = new OutboxHealth(
      { state: () => this.#state, connectionProvider, store, dispatches },
      options.health,
    );
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  onApplicationBootstrap(): void {
    const { registry } = this.#basis;
    this.explorer.register(registry);
    for (const { aggregate, event, listener } of this.options.routes ?? [])
      registry.register(
        aggregate ?? AggregateType.GLOBAL,
        event,
        typeof listener === 'function' ? listener(this.#get) : listener,
      );
    this.#outbox = buildOutbox(this.options, this.#basis);
    this.#purges = buildPurges(this.options, this.#basis);
    for (const purge of this.#purges) purge.start();
    this.#state = 'running';
    if (this.options.mode !== 'writerOnly') this.#wake?.start(() => this.#outbox?.wake());
  }

  readonly #get = <T>(token: Type<T>): T => this.moduleRef.get(token, { strict: false });

  /** Comes after the hook in which the bus drains its handlers, and before it closes its producers. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#state = 'stopped';
    // A redrive may wait for the database, and must not keep the outbox from its drain.
    const redrivesEnded = this.admin.close();
    await this.#wake?.close();
    for (const purge of this.#purges) await purge.close();
    await this.#outbox?.close();
    await redrivesEnded;
  }
}
