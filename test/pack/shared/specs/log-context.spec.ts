import { EventBusLogger, logContext, type RecordLogContext } from '@nest-event-bus/core';

const context: RecordLogContext = {
  fields: { bindingName: 'orders', offset: '7' },
  prefix: '[orders|orders.events|3|7|order-group|host-0]',
  isNamedBy: () => true,
};

/** Returns what is written to the standard output. */
function written(work: () => void): string {
  const { stdout } = process;
  const write = stdout.write;
  let text = '';
  stdout.write = (chunk) => {
    text += String(chunk);
    return true;
  };
  try {
    work();
  } finally {
    stdout.write = write;
  }
  return text;
}

describe('EventBusLogger on the installed version of Nest', () => {
  it('writes the prefix of the record into lines of text', () => {
    const logger = new EventBusLogger({ colors: false });
    const text = written(() => logContext.run(context, () => logger.log('paid', 'Orders')));
    expect(text).toMatch(/\[Orders\] \[orders\|orders\.events\|3\|7\|order-group\|host-0\] paid/);
  });

  it('writes the fields of the record into lines of JSON, and none outside of a record', () => {
    const logger = new EventBusLogger({ json: true });
    const inside = written(() => logContext.run(context, () => logger.log('paid', 'Orders')));
    expect(JSON.parse(inside)).toMatchObject({
      level: 'log',
      message: 'paid',
      context: 'Orders',
      bindingName: 'orders',
      offset: '7',
    });
    expect(JSON.parse(written(() => logger.log('idle')))).not.toHaveProperty('bindingName');
  });
});
