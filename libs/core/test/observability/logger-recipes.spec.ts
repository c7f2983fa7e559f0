import { Writable } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { pino } from 'pino';
import { createLogger, format, transports } from 'winston';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { logContext } from '../../src/logging/mdc-context-propagator.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let written: string[];

beforeEach(async () => {
  testBus = new TestBus();
  written = [];
  await testBus.topic('orders');
});

afterEach(() => testBus.end());

const stream = (): Writable =>
  new Writable({
    write: (chunk: Buffer, _, done) => {
      written.push(...String(chunk).split('\n').filter(Boolean));
      done();
    },
  });

interface TestedLogger {
  info(message: string): unknown;
}

function pinoLogger(): TestedLogger {
  const reader = logContext.reader();
  return pino({ mixin: () => ({ ...reader.fields() }) }, stream());
}

function winstonLogger(): TestedLogger {
  const reader = logContext.reader();
  const withRecord = format((info) => ({ ...reader.fields(), ...info }));
  return createLogger({
    format: format.combine(withRecord(), format.json()),
    transports: [new transports.Stream({ stream: stream() })],
  });
}

const RECIPES = [
  ['pino', pinoLogger, 'msg'],
  ['winston', winstonLogger, 'message'],
] as const;

describe.each(RECIPES)('A logger of %s', (_name, create, messageKey) => {
  const linesWith = (message: string) =>
    written
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .filter((line) => String(line[messageKey]).startsWith(message));

  it('writes the fields of the record into each line of its handler, and none outside', async () => {
    const logger = create();
    @Injectable()
    class Orders {
      @EventHandler('orders')
      async onOrder(): Promise<void> {
        await Promise.resolve();
        logger.info('paid');
      }
    }
    await testBus.startOrders([Orders]);
    await testBus.write('orders', '1', '2');
    logger.info('idle');
    const place = { bindingName: 'orders', topic: 'orders', partition: 0, retryTier: 0 };
    expect(linesWith('paid')).toMatchObject([
      { ...place, offset: '0' },
      { ...place, offset: '1' },
    ]);
    expect(linesWith('idle')).toHaveLength(1);
    expect(linesWith('idle')[0]).not.toHaveProperty('bindingName');
  });

  it('gets the fields of context.log.with() if it is the logger of Nest', async () => {
    const logger = create();
    @Injectable()
    class Orders {
      @EventHandler('orders')
      onOrder(_: unknown, { log }: EventContext): void {
        log.with({ orderId: 7 }).info('paid');
      }
    }
    await testBus.startOrders([Orders]);
    const write = (message: string): unknown => logger.info(message);
    Logger.overrideLogger({ log: write, error: write, warn: write, debug: write });
    await testBus.write('orders', '1');
    expect(linesWith('paid')).toMatchObject([{ orderId: 7, bindingName: 'orders', offset: '0' }]);
  });
});
