import { Logger, type ConsoleLoggerOptions } from '@nestjs/common';
import { NestLogger } from '../nest/nest-logger.js';
import { EventBusLogger } from './event-bus-logger.js';
import { logContext } from './mdc-context-propagator.js';

const context = {
  fields: { bindingName: 'orders', topic: 'orders.events', partition: 3, offset: '14209' },
  prefix: '[orders|orders.events|3|14209|order-group|host-0]',
  isNamedBy: ({ offset }: Readonly<Record<string, unknown>>) => offset === '14209',
};

/** Returns what the logger writes to the standard streams. */
function written(options: ConsoleLoggerOptions, log: (logger: Logger) => void): readonly string[] {
  const texts: string[] = [];
  const collect = (text: unknown): boolean => texts.push(String(text)) > 0;
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation(collect),
  );
  Logger.overrideLogger(new EventBusLogger(options));
  try {
    logContext.run(context, () => log(new Logger('Orders')));
    log(new Logger('Orders'));
  } finally {
    for (const spy of spies) spy.mockRestore();
    Logger.overrideLogger(true);
  }
  return texts;
}

const TEXT = { colors: false };
const JSON_MODE = { json: true };

describe('EventBusLogger', () => {
  it('writes the prefix of S0-4.13-14 before each message, and none outside of a record', () => {
    const [inside, outside] = written(TEXT, (logger) => logger.log('paid'));
    expect(inside).toMatch(
      / LOG \[Orders\] \[orders\|orders\.events\|3\|14209\|order-group\|host-0\] paid\n$/,
    );
    expect(outside).toMatch(/ LOG \[Orders\] paid\n$/);
  });

  it.each(['log', 'error', 'warn', 'debug', 'verbose', 'fatal'] as const)(
    'writes the prefix at the level %s, also for objects',
    (level) => {
      const [object, text] = written(TEXT, (logger) => {
        logger[level]({ id: 1 });
        logger[level]('more');
      });
      for (const line of [object, text]) expect(line).toContain('|host-0] ');
    },
  );

  it('writes the fields into the object with json: true, and none outside of a record', () => {
    const lines = written(JSON_MODE, (logger) => logger.log('paid'));
    const [inside, outside] = lines.map((line) => JSON.parse(line) as object);
    expect(inside).toMatchObject({ level: 'log', message: 'paid', context: 'Orders' });
    expect(inside).toMatchObject(context.fields);
    expect(outside).not.toHaveProperty('bindingName');
  });

  it('writes the fields of a line of the bus into the object, and not into its message', () => {
    const [inside, outside] = written(JSON_MODE, () =>
      new NestLogger().error('Record failed', {
        ...{ binding: 'orders', offset: '14209', level: 'mine', attempt: { total: 2 } },
        ...{ cause: new Error('no'), big: 1n, stack: 'Error: no\n    at here' },
      }),
    ).map((line) => JSON.parse(line) as object);
    const told = {
      ...{ level: 'error', context: 'EventBus', message: 'Record failed', binding: 'orders' },
      ...{ attempt: { total: 2 }, cause: 'Error', big: '1' },
      stack: expect.stringContaining('at here') as unknown,
    };
    expect(inside).toMatchObject({ ...told, ...context.fields });
    expect(outside).toMatchObject(told);
    expect(outside).not.toHaveProperty('bindingName');
  });
});
