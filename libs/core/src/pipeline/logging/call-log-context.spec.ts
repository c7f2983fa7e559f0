import fc from 'fast-check';
import { deliveryOf, type DeliveredRecord } from '../pipeline.spec-support.js';
import { CallLogContext } from './call-log-context.js';

const CONTAINER = {
  ...{ binding: 'orders', groupId: 'order-group', hostname: 'host', tier: 0 },
} as const;

function callOf(given: DeliveredRecord = {}, number = 1) {
  const delivery = deliveryOf(given, { sessionIndex: 0 });
  const record = { ...delivery.record, topic: 'orders.events', partition: 3 };
  return { delivery: { ...delivery, record }, received: record, number };
}

const contextOf = (...given: Parameters<typeof callOf>) =>
  new CallLogContext(CONTAINER, callOf(...given));

describe('CallLogContext', () => {
  it('has the prefix of the specification: binding, topic, partition, offset, group and instance', () => {
    expect(contextOf({ offset: 14_209 }).prefix).toBe(
      '[orders|orders.events|3|14209|order-group|host-0]',
    );
  });

  it('has the fields that every log line of the specification has', () => {
    expect(contextOf({ offset: 14_209 }).fields).toEqual({
      bindingName: 'orders',
      topic: 'orders.events',
      partition: 3,
      offset: '14209',
      consumerGroup: 'order-group',
      consumerInstance: 'host-0',
      retryTier: 0,
      attempt: 1,
    });
  });

  it('counts the calls of earlier deliveries', () => {
    const history = { failures: 2, calls: 6 };
    expect(contextOf({ history }, 2).fields).toMatchObject({ attempt: 8 });
  });

  it.each([
    [{ 'message-id': 'm', 'x-outbox-event-id': 'o', 'correlation-id': 'c' }, 'm', 'c'],
    [{ 'x-outbox-event-id': 'o', 'x-correlation-id': 'x' }, 'o', 'x'],
    [{ 'message-id': 'a\nb\u2028c' }, 'a b c', undefined],
    [{ 'message-id': 'x'.repeat(500) }, 'x'.repeat(128), undefined],
  ])('reads the ids of %j', (headers, eventId, correlationId) => {
    const { fields } = contextOf({ headers });
    expect([fields['eventId'], fields['correlationId']]).toEqual([eventId, correlationId]);
  });

  it('has the first and the last offset of a batch, and no ids', () => {
    const calls = [5, 6, 9].map((offset) => callOf({ offset, headers: { 'message-id': 'm' } }));
    const context = new CallLogContext(CONTAINER, calls[0]!, calls);
    expect(context.prefix).toBe('[orders|orders.events|3|5-9|order-group|host-0]');
    expect(context.fields).toMatchObject({ offset: '5', lastOffset: '9', records: 3 });
    expect(context.fields).not.toHaveProperty('eventId');
  });

  it('keeps no records of a batch', () => {
    const calls = [5, 9].map((offset) => callOf({ offset }));
    const context = new CallLogContext(CONTAINER, calls[0]!, calls);
    calls.splice(1);
    expect(context.fields).toMatchObject({ lastOffset: '9', records: 2 });
  });

  it('is named by lines about its record, with the offset as a number or as text', () => {
    const context = contextOf({ offset: 7 });
    const place = { topic: 'orders.events', partition: 3 };
    for (const offset of [7, '7', 7n]) expect(context.isNamedBy({ ...place, offset })).toBe(true);
    for (const other of [
      { ...place, offset: 8 },
      { ...place, partition: 2, offset: 7 },
      { ...place, topic: 'x', offset: 7 },
      place,
      {},
    ])
      expect(context.isNamedBy(other)).toBe(false);
  });

  it('never has the key or the value of a record', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 5 }), fc.string({ minLength: 5 }), (key, value) => {
        const secret = (text: string): string => `secret<${text}>`;
        const context = contextOf({
          ...{ key: secret(key), value: secret(value) },
          headers: { authorization: secret(key) },
        });
        expect(JSON.stringify([context.fields, context.prefix])).not.toContain('secret<');
      }),
    );
  });
});
