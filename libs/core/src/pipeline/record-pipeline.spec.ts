// oxlint-disable-next-line import/no-unassigned-import -- class-transformer's decorators need it
import 'reflect-metadata';
import { inspect } from 'node:util';
import { IsInt } from 'class-validator';
import { FIRST_DELIVERY } from '../model/outcomes/delivery-history.js';
import { LaneDelivery } from '../consuming/lanes/lane-delivery.js';
import type { EventContext } from '../model/records/event-context.js';
import type { EventRecord } from '../model/records/event-record.js';
import type { Deserializer } from '../model/extension-points/deserializer.js';
import { rawDeserializer, textDeserializer } from './decoding/plain-formats.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  errorOf,
  handler,
  now,
  pipelineParts,
  processorOf,
  recordingLogger,
} from './pipeline.spec-support.js';
import { recordPipelineSteps } from './record-pipeline.js';

const succeeded = { kind: 'succeeded' };

let handled: unknown[];

beforeEach(() => {
  handled = [];
});

const keep = handler(({ value }: EventRecord) => void handled.push(value));

describe('The record pipeline', () => {
  it('returns an outcome without a promise if nothing is asynchronous', () => {
    const processor = processorOf([keep]);
    expect(processor.process(deliveryOf({ value: { id: 1 } }))).toEqual(succeeded);
    expect(handled).toEqual([{ id: 1 }]);
  });

  it.each([
    [
      'at once',
      textDeserializer,
      () => {
        throw new Error('a step broke');
      },
    ],
    [
      'later',
      { name: 'slow', deserialize: () => Promise.resolve('text') },
      () => Promise.reject(new Error('a step broke')),
    ],
  ])('returns a failure if a step throws, prepared %s', async (_, deserializer, process) => {
    const parts = { deserializer };
    const steps = recordPipelineSteps(pipelineParts([keep], parts));
    const broken = { process, processSlice: () => [] };
    const processor = processorOf([keep], parts, { ...steps, handler: () => broken });
    const outcome = await processor.process(deliveryOf({ value: 'text' }));
    expect(errorOf(outcome).message).toBe('a step broke');
  });

  it('returns success whatever the handler returns', async () => {
    const results = [false, null, 'failed', { isSuccess: false }, Promise.resolve(false)];
    for (const result of results) {
      expect(await processorOf([handler(() => result)]).process(deliveryOf())).toEqual(succeeded);
    }
  });

  it('returns a promise if the handler is asynchronous', async () => {
    const outcome = processorOf([handler(async () => undefined)]).process(deliveryOf());
    expect(outcome).toBeInstanceOf(Promise);
    expect(await outcome).toEqual(succeeded);
  });

  const boom = new TypeError('boom');

  it.each([
    [
      'throws',
      () => {
        throw boom;
      },
    ],
    ['rejects', () => Promise.reject(boom)],
  ])('returns a failure if the handler %s', async (_how, handle) => {
    expect(await processorOf([handler(handle)]).process(deliveryOf())).toEqual({
      kind: 'failed',
      error: boom,
      attempts: 1,
      reason: 'retry-exhausted',
    });
  });

  it.each([
    ['a string', 'no luck', "Something was thrown that is not an Error: 'no luck'."],
    ['undefined', undefined, 'Something was thrown that is not an Error: undefined.'],
    ['null', null, 'Something was thrown that is not an Error: null.'],
    ['an object', { secret: 1 }, 'Something was thrown that is not an Error: object.'],
  ])('returns a failure with an Error if the handler throws %s', async (_what, thrown, message) => {
    const outcome = await processorOf([handler(() => Promise.reject(thrown))]).process(
      deliveryOf(),
    );
    expect(errorOf(outcome)).toMatchObject({ message, cause: thrown });
  });

  it('cannot be created without a handler', () => {
    expect(() => processorOf([])).toThrow("Binding 'orders' has no handler.");
  });

  it('applies global enhancers only if the binding asks for them', () => {
    const scopes: unknown[] = [];
    const definition = {
      ...keep,
      invokeWith: (scope: string) => (scopes.push(scope), keep.invoke),
    };
    processorOf([definition]);
    processorOf([definition], { binding: bindingOf({ enhancers: 'all' }) });
    expect(scopes).toEqual(['all']);
  });
});

describe('Decoding', () => {
  const failing = (value: Buffer, deserializer?: Deserializer) => {
    const outcome = processorOf([keep], { deserializer }).process(deliveryOf({ value, offset: 5 }));
    return errorOf(now(outcome));
  };

  it('fails for broken JSON without quoting the payload', () => {
    const error = failing(Buffer.from('{"iban": DE89'));
    expect(error).toMatchObject({ code: 'DESERIALIZATION', retriable: false });
    expect(error.message).toContain('The value of orders.events-1-5 (13 bytes) is not the JSON');
    expect(inspect(error)).not.toContain('DE89');
    expect(handled).toEqual([]);
  });

  it('refuses bytes that are not UTF-8 instead of repairing them', () => {
    expect(failing(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ code: 'DESERIALIZATION' });
    expect(failing(Buffer.from([0xff]), textDeserializer)).toMatchObject({
      code: 'DESERIALIZATION',
    });
  });

  it('reads values as text', () => {
    const processor = processorOf([keep], { deserializer: textDeserializer });
    expect(processor.process(deliveryOf({ value: Buffer.from('tüv') }))).toEqual(succeeded);
    expect(handled).toEqual(['tüv']);
  });

  it('gives the handler a copy of the bytes', () => {
    const write = handler(({ value }: EventRecord<Buffer>) => value.fill(0));
    const delivery = deliveryOf({ value: Buffer.from('abc') });
    now(processorOf([write], { deserializer: rawDeserializer }).process(delivery));
    expect(delivery.record.value?.toString()).toBe('abc');
  });

  it('uses a deserializer of the application, which may be asynchronous and may fail', async () => {
    const later: Deserializer = { name: 'Avro', deserialize: async (bytes) => bytes.length };
    const broken: Deserializer = {
      name: 'Avro',
      deserialize: () => Promise.reject(new Error('no schema')),
    };
    const value = Buffer.from('abc');
    expect(
      await processorOf([keep], { deserializer: later }).process(deliveryOf({ value })),
    ).toEqual(succeeded);
    expect(handled).toEqual([3]);
    const outcome = await processorOf([keep], { deserializer: broken }).process(
      deliveryOf({ value }),
    );
    expect(errorOf(outcome)).toMatchObject({
      code: 'DESERIALIZATION',
      cause: { message: 'no schema' },
    });
  });

  it('leaves out a tombstone: the handler gets null, and nothing is validated', () => {
    class Order {
      @IsInt()
      id!: number;
    }
    const tolerant = handler(({ value }: EventRecord) => void handled.push(value), {
      payload: Order,
    });
    expect(processorOf([tolerant]).process(deliveryOf({ value: null }))).toEqual(succeeded);
    expect(handled).toEqual([null]);
  });
});

describe('A delivery that is cancelled while its record is prepared', () => {
  it('is handed back and reaches no handler', async () => {
    const paused = new AbortController();
    const deserializer: Deserializer = { name: 'Avro', deserialize: async () => 1 };
    const delivery = deliveryOf({ value: 1 }, { waitSignal: paused.signal });
    const outcome = processorOf([keep], { deserializer }).process(delivery);
    paused.abort();
    expect(await outcome).toEqual({ kind: 'handed-back' });
    expect(handled).toEqual([]);
  });

  it('is recognised without creating a signal, which would be expensive', async () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    const deserializer: Deserializer = { name: 'Avro', deserialize: async () => 1 };
    const { record } = deliveryOf({ value: 1 });
    const [calm, calledOff] = [0, 1].map(
      () => new LaneDelivery(record, FIRST_DELIVERY, 0, 0, undefined),
    );
    const processor = processorOf([keep], { deserializer });
    const outcomes = [calm, calledOff].map(async (each) => processor.process(each!));
    calledOff!.abortWaits(new Error('paused'));
    expect(await Promise.all(outcomes)).toEqual([succeeded, { kind: 'handed-back' }]);
    expect(handled).toHaveLength(1);
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
  });
});

describe('handBack()', () => {
  const giving = (handle: (context: EventContext) => unknown) =>
    processorOf([handler((_record: EventRecord, context) => handle(context))]).process(
      deliveryOf(),
    );

  it('hands the record back with or without a delay', async () => {
    expect(giving((context) => context.handBack())).toEqual({ kind: 'handed-back' });
    expect(await giving(async (context) => context.handBack({ delayMs: 500 }))).toEqual({
      kind: 'handed-back',
      delayMs: 500,
    });
  });

  it('has no effect if the handler throws afterwards', async () => {
    const outcome = await giving((context) => {
      context.handBack();
      throw new Error('boom');
    });
    expect(errorOf(outcome).message).toBe('boom');
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5'])(
    'refuses a delay of %p',
    async (delayMs) => {
      const outcome = await giving((context) => context.handBack({ delayMs: delayMs as number }));
      expect(errorOf(outcome)).toBeInstanceOf(RangeError);
    },
  );

  it('logs a warning if the handler has already returned', () => {
    const logger = recordingLogger();
    let kept: EventContext | undefined;
    const processor = processorOf(
      [handler((_record: EventRecord, context) => void (kept = context))],
      { logger },
    );
    expect(processor.process(deliveryOf())).toEqual(succeeded);
    kept!.handBack();
    expect(logger.lines).toEqual([expect.objectContaining({ level: 'warn' })]);
  });
});

describe('The pipeline of a record handler', () => {
  it('does not take slices', () => {
    expect(processorOf([keep]).processSlice).toBeUndefined();
    expect(processorOf([batchHandler(() => 1)]).processSlice).toBeDefined();
  });
});
