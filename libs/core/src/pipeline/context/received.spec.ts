import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { inspect } from 'node:util';
import type { EventContext } from '../../model/records/event-context.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import {
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  receive,
  recordingLogger,
} from '../pipeline.spec-support.js';

const recordOf = (given?: Parameters<typeof receive>[0]) => receive(given).record;

describe('ReceivedRecord', () => {
  it('has its position as exact numbers and its key as text', () => {
    expect(recordOf({ key: 'k', offset: Number.MAX_SAFE_INTEGER })).toMatchObject({
      key: 'k',
      topic: 'orders.events',
      partition: 1,
      offset: 9_007_199_254_740_991n,
      timestamp: 1_600_000_000_000,
    });
    expect(recordOf().key).toBeNull();
  });

  it('prints no secret in a log or an error', () => {
    const record = recordOf({ value: { iban: 'DE89' }, headers: { auth: 'token' }, offset: 12 });
    expect(JSON.parse(JSON.stringify(record))).toEqual({
      topic: 'orders.events',
      partition: 1,
      offset: '12',
      timestamp: 1_600_000_000_000,
      key: null,
      headers: expect.arrayContaining(['auth', 'x-eventbus-binding-name']) as unknown,
    });
    expect(inspect(record, { depth: 9 })).not.toMatch(/DE89|token/);
  });

  it('adds headers about its consumer, without changing the bytes of the record', () => {
    const { record, delivery } = receive({
      headers: { 'x-eventbus-binding-name': 'earlier', a: '1' },
    });
    expect(record.headers.toJSON()).toEqual({
      a: '1',
      'x-eventbus-binding-name': 'orders',
      'x-eventbus-received-timestamp': '1700000000000',
      'x-eventbus-consumer-instance': `${new VirtualRuntime().hostname()}-2`,
    });
    expect(record.headers.get('x-eventbus-binding-name')).toBe('orders');
    expect(record.headers.has('x-eventbus-consumer-instance')).toBe(true);
    expect(record.headers.getAll('x-eventbus-received-timestamp')).toEqual(['1700000000000']);
    expect(delivery.record.headers.map(({ value }) => String(value))).toEqual(['earlier', '1']);
  });

  it('keeps several values of one header', () => {
    const delivery = deliveryOf();
    const headers = [
      { key: 'tag', value: Buffer.from('a') },
      { key: 'tag', value: null },
      { key: 'tag', value: Buffer.from('b') },
    ];
    const { record } = receive({}, { ...delivery, record: { ...delivery.record, headers } });
    expect(record.headers.getAll('tag')).toEqual(['a', 'b']);
    expect(record.headers.get('tag')).toBe('b');
    expect(record.headers.toJSON()['tag']).toEqual(['a', 'b']);
    expect(record.headers.get('none')).toBeUndefined();
    expect(record.headers.has('none')).toBe(false);
  });
});

describe('ReceivedContext', () => {
  it('has the position of the record and its number of attempts', () => {
    const { context } = receive({ type: 'OrderPlaced', history: { failures: 2, calls: 2 } });
    expect(context).toMatchObject({
      binding: 'orders',
      cluster: 'default',
      groupId: 'order-service',
      eventType: 'OrderPlaced',
      attempt: { call: 1, delivery: 3, tier: 0, total: 3 },
    });
  });

  it('counts handler calls over all deliveries, and none for a delivery that was handed back', () => {
    const delivery = deliveryOf({ history: { redeliveries: 5, failures: 2, calls: 6 } });
    const { context } = receive({}, delivery);
    expect(context.attempt).toEqual({ call: 1, delivery: 3, tier: 0, total: 7 });
  });

  it('has a dedupKey with the original position, also after retries', () => {
    const keyOf = (headers: Readonly<Record<string, string>>, tier: number): string =>
      receive({}, deliveryOf({ offset: 7, headers }), tier).context.dedupKey;
    const original = (topic: string, offset = '9007199254740993') => ({
      'x-eventbus-original-topic': topic,
      'x-eventbus-original-partition': '3',
      'x-eventbus-original-offset': offset,
    });
    expect(keyOf({}, 0)).toBe('orders.events-1-7');
    expect(keyOf(original('origin'), 1)).toBe('origin-3-9007199254740993');
    expect(keyOf(original('origin', 'x'), 1)).toBe('orders.events-1-7');
    // A replay of the record.
    const replayed = { ...original('orders.events'), 'x-eventbus-replay-count': '1' };
    expect(keyOf(replayed, 0)).toBe('orders.events-3-9007199254740993');
    // A new event with the headers of an earlier one.
    expect(keyOf(original('origin'), 0)).toBe('orders.events-1-7');
    expect(keyOf(original('orders.events'), 0)).toBe('orders.events-1-7');
  });

  it('has its own copy of the bytes in `raw`', () => {
    const { context, delivery } = receive({ value: 'abc', key: 'k', headers: { h: 'v' } });
    context.raw.value!.fill(0);
    context.raw.key!.fill(0);
    context.raw.headers[0]!.value!.fill(0);
    expect(context.raw).toBe(context.raw);
    expect(delivery.record.value?.toString()).toBe('"abc"');
    expect(delivery.record.key?.toString()).toBe('k');
    expect(delivery.record.headers[0]!.value?.toString()).toBe('v');
  });

  it('adds the position of its record to each log line', () => {
    const { context, logger } = receive({ offset: 4 });
    const position = { binding: 'orders', topic: 'orders.events', partition: 1, offset: '4' };
    context.log.debug('a');
    context.log.info('b', { step: 1 });
    context.log.warn('c', { topic: 'forged' });
    context.log.error('d');
    expect(logger.lines).toEqual([
      { level: 'debug', message: 'a', context: position },
      { level: 'info', message: 'b', context: { ...position, step: 1 } },
      { level: 'warn', message: 'c', context: position },
      { level: 'error', message: 'd', context: position },
    ]);
  });

  it('creates the abort signal only if the handler reads it', () => {
    let asked = 0;
    const delivery = {
      ...deliveryOf(),
      get signal(): AbortSignal {
        asked += 1;
        return new AbortController().signal;
      },
    };
    const { context } = receive({}, delivery);
    expect(asked).toBe(0);
    expect(context.signal.aborted).toBe(false);
    expect(asked).toBe(1);
  });

  it('parses no header before the handler reads one', () => {
    const delivery = deliveryOf();
    const named = { ...delivery.record, hasHeader: () => false };
    const record = Object.defineProperty(named, 'headers', {
      get: () => {
        throw new Error('decoded');
      },
    });
    expect(receive({}, { ...deliveryOf(), record }).record.value).toEqual({});
  });
});

describe('The outcome that a handler chooses', () => {
  const outcomeOf = async (
    handle: (context: EventContext) => unknown,
    ack: 'auto' | 'manual' = 'auto',
  ): Promise<{ readonly outcome: Outcome; readonly warnings: readonly string[] }> => {
    const logger = recordingLogger();
    const binding = bindingOf({ ack });
    const processor = processorOf([handler((_, context) => handle(context))], { binding, logger });
    const outcome = await processor.process(deliveryOf());
    return {
      outcome,
      get warnings() {
        return logger.lines.map(({ message }) => message);
      },
    };
  };
  const fail = (): never => {
    throw new RangeError('of jane');
  };
  const givenUp = {
    kind: 'failed',
    error: expect.objectContaining({
      code: 'DEAD_LETTER_REQUESTED',
      message: 'no such customer',
    }) as unknown,
    attempts: 1,
    reason: 'handler-gave-up',
  };

  it.each<[string, 'auto' | 'manual', (context: EventContext) => unknown, unknown]>([
    ['nothing', 'auto', () => undefined, { kind: 'succeeded' }],
    ['nothing', 'manual', () => undefined, { kind: 'handed-back' }],
    ['acknowledge()', 'auto', (context) => context.acknowledge(), { kind: 'succeeded' }],
    ['acknowledge()', 'manual', (context) => context.acknowledge(), { kind: 'succeeded' }],
    [
      'acknowledge() later',
      'manual',
      async (context) => {
        await Promise.resolve();
        context.acknowledge();
      },
      { kind: 'succeeded' },
    ],
    ['deadLetter()', 'auto', (context) => context.deadLetter('no such customer'), givenUp],
    ['deadLetter()', 'manual', (context) => context.deadLetter('no such customer'), givenUp],
    [
      'handBack()',
      'manual',
      (context) => context.handBack({ delayMs: 5 }),
      { kind: 'handed-back', delayMs: 5 },
    ],
  ])('is applied: %s, with ack: %s', async (_word, ack, handle, expected) => {
    expect(await outcomeOf(handle, ack)).toEqual({ outcome: expected, warnings: [] });
  });

  it.each<[string, (context: EventContext) => unknown, unknown]>([
    [
      'acknowledge()',
      (context) => context.acknowledge(),
      { kind: 'discarded', reason: 'acknowledged' },
    ],
    ['deadLetter()', (context) => context.deadLetter('no such customer'), givenUp],
  ])(
    'by %s stays if the handler throws afterwards, and the error is logged',
    async (word, say, then) => {
      const expected = {
        outcome: then,
        warnings: [`The handler threw after ${word}, which decides about its record.`],
      };
      const atOnce = (context: EventContext): void => {
        say(context);
        fail();
      };
      const later = async (context: EventContext): Promise<void> => {
        await Promise.resolve();
        atOnce(context);
      };
      expect(await outcomeOf(atOnce)).toEqual(expected);
      expect(await outcomeOf(later, 'manual')).toEqual(expected);
    },
  );

  it.each([
    ['nothing', () => undefined],
    ['handBack()', (context: EventContext) => context.handBack()],
  ])(
    'by %s is replaced by a failure if the handler throws, also with ack: manual',
    async (_word, say) => {
      const { outcome } = await outcomeOf((context) => {
        say(context);
        fail();
      }, 'manual');
      expect(outcome).toMatchObject({ kind: 'failed', error: { message: 'of jane' } });
    },
  );

  it('is the last one, if the handler calls several methods', async () => {
    const { outcome } = await outcomeOf((context) => {
      context.deadLetter('no such customer');
      context.handBack();
      context.acknowledge();
    });
    expect(outcome).toEqual({ kind: 'succeeded' });
  });

  it('cannot change after acknowledge(), and a warning is logged', async () => {
    const { outcome, warnings } = await outcomeOf((context) => {
      context.acknowledge();
      context.deadLetter();
    });
    expect(outcome).toEqual({ kind: 'succeeded' });
    expect(warnings).toEqual(['deadLetter() came after acknowledge(): the record counts as done.']);
  });

  it.each([false, true])(
    'cannot change after the handler has ended (it threw: %s)',
    async (throws) => {
      let kept: EventContext | undefined;
      const ended = await outcomeOf((context) => {
        kept = context;
        if (throws) fail();
      });
      kept?.acknowledge();
      expect(ended.outcome.kind).toBe(throws ? 'failed' : 'succeeded');
      expect(ended.warnings).toEqual([
        'acknowledge() came after the handler had returned: it has no effect any more.',
      ]);
    },
  );
});
