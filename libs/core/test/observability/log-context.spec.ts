import { EventEmitter } from 'node:events';
import { setTimeout as sleepFor } from 'node:timers/promises';
import {
  Injectable,
  Logger,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
} from '@nestjs/common';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { OnEventBus } from '../../src/discovery/decorators/on-event-bus.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { LogLines, placeOf } from '../support/log-lines.spec-support.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';

type Order = EventRecord<number>;

let testBus: TestBus;
let lines: LogLines;
let handle: (record: Order, context: EventContext) => unknown;
const logger = new Logger('Orders');

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(record: Order, context: EventContext): unknown {
    return handle(record, context);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  lines = new LogLines();
  handle = () => logger.log('handled');
  await testBus.topic('orders', 2);
  for (const suffix of ['retry-1', 'DLT']) await testBus.topic(`orders.${suffix}`);
});

afterEach(() => testBus.end());

async function start(
  properties: object = {},
  options: Options = {},
  providers: readonly (new () => object)[] = [Orders],
) {
  const application = await testBus.startOrders([...providers], properties, options);
  lines.install();
  return application;
}

/** Waits for work in real time, which a handler has begun. */
async function eventually(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('The condition was not met.');
    await sleepFor(1);
    await testBus.runtime.advance(1);
  }
}

const numbersUpTo = (count: number) => Array.from({ length: count }, (_, index) => String(index));

describe('The log lines of a handler', () => {
  it('have the fields and the prefix of the record', async () => {
    await start();
    const headers = [
      { key: 'message-id', value: 'e-1' },
      { key: 'correlation-id', value: 'c-1' },
    ];
    await testBus.write('orders', { partition: 1, key: 'secret', value: '"secret"', headers });
    const host = testBus.runtime.hostname();
    expect(lines.of('handled')).toEqual([
      {
        message: 'handled',
        prefix: `[orders|orders|1|0|shop|${host}-0]`,
        fields: {
          bindingName: 'orders',
          topic: 'orders',
          partition: 1,
          offset: '0',
          consumerGroup: 'shop',
          consumerInstance: `${host}-0`,
          retryTier: 0,
          attempt: 1,
          eventId: 'e-1',
          correlationId: 'c-1',
        },
      },
    ]);
  });

  it('keep the record after await, in timers, and in promises that others settle', async () => {
    const pool = new EventEmitter();
    handle = async ({ value }) => {
      await Promise.resolve();
      logger.log('after await');
      setTimeout(() => logger.log('in a timer'), 1);
      process.nextTick(() => logger.log('in a tick'));
      await new Promise((resolve) => pool.once(String(value), resolve));
      logger.log('after the pool');
      await sleepFor(1);
      logger.log('after sleep');
    };
    await start({ processing: { by: 'none' } });
    await testBus.write('orders', ...numbersUpTo(3));
    await eventually(() => pool.eventNames().length === 3);
    for (const name of ['2', '0', '1']) pool.emit(name);
    await eventually(() => lines.of('after sleep').length === 3);
    await eventually(() => lines.of('in a timer').length === 3);
    const places = ['orders-0@0', 'orders-0@1', 'orders-0@2'];
    for (const message of ['after await', 'in a timer', 'in a tick', 'after sleep'])
      expect([...lines.placesOf(message)].sort()).toEqual(places);
    expect(lines.placesOf('after the pool')).toEqual(['orders-0@2', 'orders-0@0', 'orders-0@1']);
  });

  it('have the record of their own lane, in lanes of keys that run at the same time', async () => {
    const seen: [string, string][] = [];
    handle = async ({ offset }) => {
      await sleepFor(Number(offset % 3n));
      logger.log(`record ${offset}`);
      seen.push([`orders-0@${offset}`, placeOf(lines.of(`record ${offset}`)[0]!.fields)]);
    };
    await start({ processing: { by: 'key' } });
    const records = numbersUpTo(60).map((value) => ({ key: `k${Number(value) % 7}`, value }));
    await testBus.write('orders', ...records);
    await eventually(() => seen.length === 60);
    expect(seen.filter(([expected, found]) => expected !== found)).toEqual([]);
  });

  it('have the number of the call in each retry, also in a late callback of an earlier one', async () => {
    const late = new Deferred();
    handle = async (_, { attempt }) => {
      logger.log('called');
      void late.promise.then(() => logger.log(`late ${attempt.total}`));
      if (attempt.total < 4) throw new Error('again');
    };
    const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 500, maxAttempts: 3 }] };
    await start({ retry });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(20_000);
    late.resolve();
    await testBus.runtime.advance(1);
    const attempts = (message: string) => lines.of(message).map(({ fields }) => fields['attempt']);
    expect(attempts('called')).toEqual([1, 2, 3, 4]);
    expect([1, 2, 3, 4].flatMap((call) => attempts(`late ${call}`))).toEqual([1, 2, 3, 4]);
    const tiers = lines.of('called').map(({ fields }) => [fields['topic'], fields['retryTier']]);
    expect(tiers).toEqual([
      ['orders', 0],
      ['orders', 0],
      ['orders.retry-1', 1],
      ['orders.retry-1', 1],
    ]);
    expect(lines.of('called')[2]!.prefix).toContain('[orders|orders.retry-1|0|0|');
  });

  it('have the offsets of the whole batch in a batch handler, and of one record in log.run', async () => {
    @Injectable()
    class Batches {
      @EventHandler.Batch('orders')
      async onOrders(records: readonly Order[], contexts: readonly EventContext[]): Promise<void> {
        logger.log('batch');
        for (const [index, { log }] of contexts.entries())
          await log.with({ orderId: index }).run(async () => {
            await Promise.resolve();
            logger.log('record');
          });
        contexts[1]?.log.info('own');
        logger.log(`end of ${records.length}`);
      }
    }
    await testBus.write('orders', ...numbersUpTo(3));
    await start({ autoStartup: false }, {}, [Batches]).then((application) =>
      testBus.done(application.get(EventBusConnector, { strict: false }).start('orders')),
    );
    await testBus.runtime.advance(1_000);
    expect(lines.placesOf('batch')).toEqual(['orders-0@0-2']);
    expect(lines.of('batch')[0]!.fields).toMatchObject({ records: 3, lastOffset: '2' });
    expect(lines.of('batch')[0]!.prefix).toContain('[orders|orders|0|0-2|shop|');
    expect(lines.placesOf('record')).toEqual(['orders-0@0', 'orders-0@1', 'orders-0@2']);
    expect(lines.of('record').map(({ fields }) => fields['orderId'])).toEqual([0, 1, 2]);
    expect(lines.all.find(({ message }) => message.startsWith('own'))?.prefix).toContain('|0|1|');
    expect(lines.placesOf('end of 3')).toEqual(['orders-0@0-2']);
  });

  it('have the record in guards, interceptors, filters and deserializers', async () => {
    @Injectable()
    @UseGuards({ canActivate: async () => (logger.log('guard'), true) })
    @UseInterceptors({
      intercept: (_: ExecutionContext, next: CallHandler) => {
        logger.log('interceptor');
        return next.handle();
      },
    })
    class Enhanced {
      @EventHandler('orders', { filter: () => (logger.log('filter'), true) })
      async onOrder(): Promise<void> {
        await Promise.resolve();
        logger.log('handler');
      }
    }
    const deserializer = {
      deserialize: async (value: Buffer | null) => {
        await Promise.resolve();
        logger.log('deserializer');
        return value;
      },
    };
    await start({ deserializer }, {}, [Enhanced]);
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(100);
    for (const message of ['deserializer', 'filter', 'guard', 'interceptor', 'handler'])
      expect([message, ...lines.placesOf(message)]).toEqual([message, 'orders-0@0', 'orders-0@1']);
  });

  it('have one record each in a transaction that several records share', async () => {
    handle = async () => {
      await Promise.resolve();
      logger.log('handled');
    };
    await start({ transactions: { enabled: true }, autoStartup: false }).then((application) =>
      testBus
        .write('orders', ...numbersUpTo(3))
        .then(() =>
          testBus.done(application.get(EventBusConnector, { strict: false }).start('orders')),
        ),
    );
    await testBus.runtime.advance(2_000);
    expect(lines.placesOf('handled')).toEqual(['orders-0@0', 'orders-0@1', 'orders-0@2']);
  });
});

describe('Log lines outside of the handling of a record', () => {
  it('have no context: before, between and after records, and in listeners of events', async () => {
    @Injectable()
    class Listener {
      @OnEventBus('record.failed')
      async onFailed(): Promise<void> {
        await Promise.resolve();
        logger.log('listener');
      }
    }
    handle = () => {
      throw new Error('no');
    };
    await start({ retry: { tier0: { maxAttempts: 1 }, tiers: [] } }, {}, [Orders, Listener]);
    logger.log('before');
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(1_000);
    logger.log('after');
    expect(lines.of('listener')).toHaveLength(2);
    for (const message of ['before', 'listener', 'after'])
      expect(lines.of(message).map(({ fields, prefix }) => [fields, prefix])).toEqual(
        lines.of(message).map(() => [{}, '']),
      );
  });

  it('have no context if the bus writes them about something else than the record', async () => {
    handle = async (_, { log }) => {
      log.info('about the record');
      await testBus.done(application.get(EventBusConnector, { strict: false }).stop('payments'));
    };
    await testBus.topic('payments');
    const other = { topic: 'payments', groupId: 'pay' };
    @Injectable()
    class Payments {
      @EventHandler('payments', other)
      onPayment(): void {}
    }
    const application = await start({}, {}, [Orders, Payments]);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const ofBus = lines.all.filter(({ message }) => message.includes('payments'));
    expect(ofBus.length).toBeGreaterThan(0);
    expect(ofBus.map(({ prefix }) => prefix)).toEqual(ofBus.map(() => ''));
    const own = lines.all.filter(({ message }) => message.startsWith('about the record'));
    expect(own.map(({ prefix }) => prefix.slice(0, 17))).toEqual(['[orders|orders|0|']);
  });
});

describe('The lines of the bus about a failed record', () => {
  it('have its context', async () => {
    handle = () => {
      throw new Error('no');
    };
    await start({ retry: { tier0: { maxAttempts: 2 }, tiers: [] } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const failed = lines.all.filter(({ message }) => message.includes('failed: Error: no'));
    expect(failed).toHaveLength(2);
    expect(failed.map(({ fields }) => placeOf(fields))).toEqual(['orders-0@0', 'orders-0@0']);
    expect(failed.map(({ prefix }) => prefix !== '')).toEqual([true, true]);
  });
});

describe('logContext.enabled', () => {
  it('set to false leaves the context out, except in the fields of context.log', async () => {
    handle = (_, { log }) => {
      logger.log('handled');
      log.with({ orderId: 7 }).info('own');
      log.run(() => logger.log('in run'));
    };
    await start({}, { logContext: { enabled: false } });
    await testBus.write('orders', '1');
    const position = { binding: 'orders', topic: 'orders', partition: 0, offset: '0' };
    expect(lines.all.map(({ prefix, fields }) => [prefix, fields])).toEqual([
      ['', {}],
      ['', { orderId: 7, ...position }],
      ['', {}],
    ]);
  });
});

describe('A logger of the application', () => {
  it.each(['throws', 'never answers'])('that %s changes nothing for records', async (how) => {
    const write = (): unknown => {
      if (how === 'throws') throw new Error('the disk is full');
      return new Promise(() => undefined);
    };
    handle = ({ value }, { log }) => {
      log.with({ value: 'x' }).info('handled');
      if (value === 1) throw new Error('no');
    };
    await start({ retry: { tier0: { maxAttempts: 2 }, tiers: [] } });
    Logger.overrideLogger({ log: write, error: write, warn: write, debug: write });
    await testBus.write('orders', '0', '1', '2');
    await testBus.runtime.advance(5_000);
    expect(await testBus.committed()).toBe(3);
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
  });
});
