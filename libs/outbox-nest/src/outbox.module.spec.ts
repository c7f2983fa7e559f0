import { DeadEventManager, EventEnvelope, Outbox, OutboxWriter } from '@nest-event-bus/outbox';
import { SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import { Injectable, Logger, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Registry } from 'prom-client';
import * as promClient from 'prom-client';
import { OutboxAdmin } from './admin/outbox-admin.js';
import { OutboxListener } from './outbox-listener.js';
import { OutboxModule } from './outbox.module.js';
import type { OutboxMode, OutboxModuleOptions } from './outbox-options.js';
import { PrometheusMetricsExporter } from './prometheus-metrics-exporter.js';
import { OutboxTransactions } from './transactions/outbox-transactions.js';

interface SqliteDatabase {
  exec(statement: string): unknown;
  prepare(statement: string): {
    all(...values: unknown[]): readonly unknown[];
    run(...values: unknown[]): { readonly changes: number };
  };
  close(): void;
}

type DatabaseClass = new (file: string) => SqliteDatabase;

// Node 24 has SQLite, and better-sqlite3 is built for the Node that has installed it.
const builtIn = process.getBuiltinModule('node:sqlite') as unknown as
  { readonly DatabaseSync: DatabaseClass } | undefined;
const Database = builtIn?.DatabaseSync ?? (require('better-sqlite3') as DatabaseClass);

@Injectable()
class Orders {
  readonly seen: string[] = [];

  @OutboxListener({ aggregate: 'ORDER', event: 'PLACED' })
  onPlaced({ eventId }: EventEnvelope): void {
    this.seen.push(eventId);
  }

  @OutboxListener({ event: 'FAILS' })
  onFails(): Promise<void> {
    return Promise.reject(new Error('no'));
  }
}

const placed = (eventId: string): EventEnvelope =>
  new EventEnvelope({
    eventId,
    eventType: 'PLACED',
    aggregateType: 'ORDER',
    aggregateId: '1',
    payloadJson: '1',
  });

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 6_000; turn++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('The condition did not become true.');
}

describe('OutboxModule', () => {
  const open: TestingModule[] = [];
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  const start = async (
    options: Partial<OutboxModuleOptions> = {},
    isAsync = false,
  ): Promise<{ app: TestingModule; database: SqliteDatabase }> => {
    const database = new Database(':memory:');
    await new SqlOutboxSchema('sqlite').migrate(database);
    const all = { database, intervalMs: 50, ...options };
    const outbox = isAsync
      ? OutboxModule.forRootAsync({ useFactory: () => Promise.resolve(all) })
      : OutboxModule.forRoot(all);
    @Module({ imports: [outbox], providers: [Orders] })
    class App {}
    const app = await Test.createTestingModule({ imports: [App] }).compile();
    await app.init();
    open.push(app);
    return { app, database };
  };

  const write = (app: TestingModule, database: object, event: EventEnvelope): Promise<unknown> =>
    app.get(OutboxTransactions).transaction(database, () => app.get(OutboxWriter).write(event));

  it.each<OutboxMode>(['singleNode', 'multiNode', 'ordered', 'leased'])(
    'dispatches events to decorated methods in the mode %s',
    async (mode) => {
      const { app, database } = await start({ mode, claimTimeoutMs: 30_000 });
      await write(app, database, placed('e1'));
      await eventually(() => app.get(Orders).seen.length > 0);
      expect(app.get(Orders).seen).toEqual(['e1']);
    },
  );

  it('closes the outbox while a redrive still waits for the database', async () => {
    const { app } = await start();
    let endRedrives = (): void => undefined;
    const redrives = new Promise<void>((resolve) => (endRedrives = resolve));
    jest.spyOn(app.get(OutboxAdmin), 'close').mockReturnValueOnce(redrives);
    const close = jest.spyOn(Outbox.prototype, 'close');
    const closed = app.close();
    await eventually(() => close.mock.calls.length > 0);
    endRedrives();
    await closed;
    close.mockRestore();
  });

  it('only writes in the mode writerOnly', async () => {
    const { app, database } = await start({ mode: 'writerOnly' }, true);
    await write(app, database, placed('e1'));
    expect(database.prepare('SELECT status FROM outbox_event').all()).toEqual([{ status: 0 }]);
  });

  it('accepts routes with listeners and factories of listeners', async () => {
    const seen: string[] = [];
    const { app, database } = await start({
      routes: [
        { event: 'OBJECT', listener: { onEvent: ({ eventId }) => void seen.push(eventId) } },
        {
          event: 'FACTORY',
          listener: (get) => ({ onEvent: ({ eventId }) => void get(Orders).seen.push(eventId) }),
        },
      ],
    });
    for (const eventType of ['OBJECT', 'FACTORY'])
      await write(
        app,
        database,
        new EventEnvelope({ eventId: eventType, eventType, payloadJson: '1' }),
      );
    await eventually(() => seen.length + app.get(Orders).seen.length === 2);
    expect([seen, app.get(Orders).seen]).toEqual([['OBJECT'], ['FACTORY']]);
  });

  it('refuses to write outside a transaction', async () => {
    const { app } = await start();
    await expect(app.get(OutboxWriter).write(placed('e1'))).rejects.toMatchObject({
      code: 'OUTBOX_TRANSACTION_REQUIRED',
    });
  });

  it('warns of options that have no effect', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await start({ mode: 'ordered', workerCount: 2 });
    expect(warn.mock.calls).toEqual([[expect.stringContaining('The option workerCount')]]);
    warn.mockRestore();
  });

  it('refuses to wake other processes if the database cannot notify', async () => {
    await expect(start({ wake: true })).rejects.toMatchObject({ code: 'ILLEGAL_ARGUMENT' });
  });

  it('lists DEAD events, and counts into a registry of prom-client', async () => {
    const registry = new Registry();
    const { app, database } = await start({
      maxAttempts: 1,
      metrics: new PrometheusMetricsExporter(promClient, registry, 'orders.outbox'),
    });
    await write(app, database, EventEnvelope.ofJson('FAILS', '1'));
    await eventually(async () => (await app.get(DeadEventManager).count()) === 1);
    const text = await registry.metrics();
    expect(text).toContain('orders_outbox_dispatch_dead_total 1');
    expect(text).toContain('orders_outbox_enqueue_hot_total 1');
  });

  it('starts with forRootAsync and ends its dispatch before the application is down', async () => {
    const { app, database } = await start({}, true);
    await write(app, database, placed('e1'));
    await app.close();
    expect(app.get(Orders).seen).toEqual(['e1']);
    expect(database.prepare('SELECT status FROM outbox_event').all()).toEqual([{ status: 1 }]);
  });
});

describe('PrometheusMetricsExporter', () => {
  it('has every metric, and two exporters fit one registry', async () => {
    const registry = new Registry();
    const exporters = [undefined, 'orders.outbox'].map(
      (prefix) => new PrometheusMetricsExporter(promClient, registry, prefix),
    );
    for (const exporter of exporters) {
      exporter.incrementHotEnqueued();
      exporter.incrementHotDropped();
      exporter.incrementColdEnqueued();
      exporter.incrementDispatchSuccess();
      exporter.incrementDispatchFailure();
      exporter.incrementDispatchDead();
      exporter.recordQueueDepths(2, 3);
      exporter.recordOldestLagMs(4);
    }
    const lines = (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
    const expected = [
      'enqueue_hot_total 1',
      'enqueue_hot_dropped_total 1',
      'enqueue_cold_total 1',
      'dispatch_success_total 1',
      'dispatch_failure_total 1',
      'dispatch_dead_total 1',
      'queue_hot_depth 2',
      'queue_cold_depth 3',
      'lag_oldest_ms 4',
    ];
    expect(lines.sort()).toEqual(
      ['outbox', 'orders_outbox']
        .flatMap((prefix) => expected.map((line) => `${prefix}_${line}`))
        .sort(),
    );
  });

  it.each(['', '1a', 'a b'])('refuses the prefix %p', (prefix) => {
    expect(() => new PrometheusMetricsExporter(promClient, new Registry(), prefix)).toThrow(
      expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }),
    );
  });
});
