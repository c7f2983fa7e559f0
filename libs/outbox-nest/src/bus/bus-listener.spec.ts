import { EventPublishException, EventsPublishException } from '@nest-event-bus/core';
import { EventEnvelope } from '@nest-event-bus/outbox';
import { BusFaultClassifier } from './bus-fault-classifier.js';
import { BusListener } from './bus-listener.js';
import { toBinding } from './to-binding.js';

const event = (eventId: string): EventEnvelope =>
  new EventEnvelope({
    eventId,
    eventType: 'PLACED',
    aggregateType: 'ORDER',
    aggregateId: 'o-1',
    occurredAt: 5,
    headers: { traceparent: '00-1-2-01' },
    payloadJson: '{"a":1}',
  });

const publisherOf = (publishAll: jest.Mock): never => ({ publishAll }) as never;

describe('BusListener', () => {
  it('publishes payload, key, type, time, headers and the id of each event with one call', async () => {
    const publishAll = jest.fn().mockResolvedValue([]);
    const listener = toBinding('orders')(() => publisherOf(publishAll)) as BusListener;
    expect(await listener.onEvents([event('e1'), event('e2')])).toEqual([undefined, undefined]);
    expect(publishAll.mock.calls).toHaveLength(1);
    const [binding, [first]] = publishAll.mock.calls[0];
    expect([binding, first]).toEqual([
      'orders',
      {
        event: Buffer.from('{"a":1}'),
        key: 'o-1',
        type: 'PLACED',
        timestamp: 5,
        headers: { traceparent: '00-1-2-01', 'message-id': 'e1', 'x-outbox-event-id': 'e1' },
      },
    ]);
  });

  it('begins no attempt after the end of the lease', async () => {
    const publishAll = jest.fn().mockResolvedValue([]);
    const listener = new BusListener(publisherOf(publishAll), 'orders');
    await listener.onEvents([event('e1')], { leaseLeftMs: 1_234.5 });
    await listener.onEvent(event('e1'), { leaseLeftMs: 0 });
    await listener.onEvent(event('e1'));
    expect(publishAll.mock.calls.map(([, , options]) => options)).toEqual([
      { timeoutMs: 1_234 },
      { timeoutMs: 1 },
      {},
    ]);
  });

  it('leaves the type out, and takes another key, if it is told to', async () => {
    const publishAll = jest.fn().mockResolvedValue([]);
    const options = { type: false, key: () => 'other' };
    await new BusListener(publisherOf(publishAll), 'orders', options).onEvent(event('e1'));
    const [, [first]] = publishAll.mock.calls[0];
    expect(first).toMatchObject({ key: 'other' });
    expect(first).not.toHaveProperty('type');
  });

  it('returns the error of each event that was not written', async () => {
    const failure = new EventPublishException('no');
    const target = { binding: 'orders', topic: 'orders' };
    const publishAll = jest
      .fn()
      .mockRejectedValue(new EventsPublishException(target, [{} as never, failure]));
    const listener = new BusListener(publisherOf(publishAll), 'orders');
    expect(await listener.onEvents([event('e1'), event('e2')])).toEqual([undefined, failure]);
    publishAll.mockRejectedValue(new EventsPublishException(target, [failure]));
    await expect(listener.onEvent(event('e2'))).rejects.toBe(failure);
  });

  it('passes other errors on', async () => {
    const publishAll = jest.fn().mockRejectedValue(new TypeError('no'));
    const listener = new BusListener(publisherOf(publishAll), 'orders');
    await expect(listener.onEvents([event('e1')])).rejects.toThrow(TypeError);
  });
});

describe('BusFaultClassifier', () => {
  it('takes an unreachable dependency for an outage, and a bad record for a fault of the event', () => {
    const classifier = new BusFaultClassifier();
    const refused = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    expect(classifier.classify(refused)).toBe('outage');
    expect(classifier.classify(new TypeError('no'))).toBe('event');
  });
});
