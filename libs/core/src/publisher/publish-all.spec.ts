import { SendError, type BrokerDriver, type RecordOutcome } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { EventPublishException } from '../errors/publish-errors.js';
import { bindingNameOf } from '../model/states/binding-ref.js';
import { jsonSerializer } from '../pipeline/decoding/plain-formats.js';
import { EventPublisher, type EventToPublish, type PublishTarget } from './event-publisher.js';
import { EventsPublishException } from './events-publish-exception.js';

let driver: BrokerDriver;

beforeEach(async () => {
  driver = memory({ broker: new MemoryBroker() });
  const config = { 'max.message.bytes': '1000' };
  await driver.admin().createTopics([{ name: 'orders', partitions: 1, config }]);
});
afterEach(() => driver.close());

function publisher(target: Partial<PublishTarget> = {}): EventPublisher {
  const producer = driver.producer({ deliveryTimeoutMs: 200 });
  return new EventPublisher((binding) => ({
    binding: bindingNameOf(binding),
    topic: 'orders',
    typeFrom: 'event-type',
    serializer: jsonSerializer,
    producer: () => producer,
    ...target,
  }));
}

async function written(count: number) {
  const records = [];
  for await (const record of driver.admin().readRange('orders', 0, 0, count)) records.push(record);
  return records;
}

const values = async (count: number) =>
  (await written(count)).map(({ value }) => value?.toString());

async function failureOf(events: readonly EventToPublish[], target: Partial<PublishTarget> = {}) {
  const error = await publisher(target)
    .publishAll('orders', events)
    .then(undefined, (thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EventsPublishException);
  return error as EventsPublishException;
}

describe('EventPublisher.publishAll', () => {
  it('writes the events in their order, and returns one position per event', async () => {
    const events = [1, 2, 3].map((id) => ({ event: { id }, key: 'customer-7' }));
    const published = await publisher().publishAll('orders', events);
    expect(published.map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
    expect(await values(3)).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
  });

  it('accepts for each event the same options as publish()', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const cause = { headers: { get: (name: string) => ({ traceparent })[name] } } as never;
    await publisher().publishAll('orders', [
      { event: 1, key: 'a', type: 'Placed', timestamp: 5 },
      { event: null, key: 'b', headers: { trace: ['x', 'y'] } },
      { event: 2, cause },
    ]);
    const [placed, tombstone, caused] = await written(3);
    expect(placed).toMatchObject({ timestamp: 5, key: Buffer.from('a') });
    expect(placed!.headers).toEqual([{ key: 'event-type', value: Buffer.from('Placed') }]);
    expect(tombstone!.value).toBeNull();
    expect(tombstone!.headers.map(({ value }) => value?.toString())).toEqual(['x', 'y']);
    expect(caused!.headers).toEqual([{ key: 'traceparent', value: Buffer.from(traceparent) }]);
  });

  it('writes the other events if the timestamp of one is invalid, and reports that one', async () => {
    const { results } = await failureOf([{ event: 1 }, { event: 2, timestamp: 1.5 }, { event: 3 }]);
    expect(results.map((each) => each instanceof EventPublishException)).toEqual([
      false,
      true,
      false,
    ]);
    expect(results[1]).toMatchObject({ fate: 'not-written' });
    expect(await values(2)).toEqual(['1', '3']);
  });

  it('keeps the order with a serializer that is asynchronous for some events', async () => {
    const serializer = {
      name: 'mine',
      serialize: (event: unknown) => {
        const form = { value: String(event) };
        return event === 1 ? Promise.resolve(form) : form;
      },
    };
    await publisher({ serializer }).publishAll('orders', [{ event: 1 }, { event: 2 }]);
    expect(await values(2)).toEqual(['1', '2']);
  });

  it('resolves at once without events', async () => {
    expect(await publisher().publishAll('orders', [])).toEqual([]);
  });

  it('writes the other events if some cannot be serialized or are too large, and reports each', async () => {
    const events = [1, 2n, 'x'.repeat(2_000), 4].map((event) => ({ event }));
    const error = await failureOf(events);
    expect(await values(2)).toEqual(['1', '4']);
    expect(error).toMatchObject({ code: 'EVENTS_PUBLISH', retriable: false });
    expect(error.message).toContain("2 of 4 events of binding 'orders'");
    const [first, second, third, fourth] = error.results;
    expect([first, fourth]).toMatchObject([{ offset: 0n }, { offset: 1n }]);
    expect(second).toMatchObject({ fate: 'not-written', retriable: false });
    expect(third).toMatchObject({ fate: 'not-written', cause: { code: 'RECORD_TOO_LARGE' } });
  });

  it('reports the outcome of each record that the driver returns', async () => {
    const place = { topic: 'orders', partition: 0, timestamp: 1 };
    const down = Object.assign(new Error('no answer'), { retriable: true });
    const outcomes: RecordOutcome[] = [
      { state: 'written', ...place, offset: 7 },
      { state: 'unknown', topic: 'orders', error: down },
      { state: 'not-written', topic: 'orders', error: down },
    ];
    const send = () => Promise.reject(new SendError(outcomes, 'two failed', true));
    const events = [{ event: 1 }, { event: 2 }, { event: 3 }];
    const error = await failureOf(events, { producer: () => ({ send }) as never });
    expect(error.retriable).toBe(true);
    expect(error.results).toMatchObject([
      { offset: 7n },
      { fate: 'unknown' },
      { fate: 'not-written' },
    ]);
    expect(error.cause).toBeInstanceOf(EventPublishException);
  });

  it('reports each event as unknown for which the driver returns no position', async () => {
    const error = await failureOf([{ event: 1 }], {
      producer: () => ({ send: async () => [] }) as never,
    });
    expect(error.results).toMatchObject([{ fate: 'unknown' }]);
  });

  it('writes nothing if it was cancelled before', async () => {
    const events = [{ event: 1 }, { event: 2 }];
    const attempt = publisher().publishAll('orders', events, { signal: AbortSignal.abort() });
    await expect(attempt).rejects.toMatchObject({
      results: [{ fate: 'not-written' }, { fate: 'not-written' }],
    });
    expect(await publisher().publishAll('orders', [{ event: 3 }])).toMatchObject([{ offset: 0n }]);
  });

  it('passes its time-out to the producer', async () => {
    const send = jest.fn(async () => [{ topic: 't', partition: 0, offset: 0, timestamp: 0 }]);
    const limited = publisher({ producer: () => ({ send }) as never });
    await limited.publishAll('orders', [{ event: 1 }], { timeoutMs: 500 });
    await limited.publish('orders', 1, { timeoutMs: 700 });
    const limits = (send.mock.calls as unknown as [unknown, object][]).map(([, each]) => each);
    expect(limits).toMatchObject([{ timeoutMs: 500 }, { timeoutMs: 700 }]);
  });
});
