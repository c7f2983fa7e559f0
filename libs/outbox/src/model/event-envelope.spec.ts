import { AggregateType, StringAggregateType, defineAggregateTypes } from './aggregate-type.js';
import { EventEnvelope } from './event-envelope.js';
import { StringEventType, defineEventTypes } from './event-type.js';
import { MAX_PAYLOAD_BYTES } from './payload.js';
import { MonotonicUlid } from './ulid.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('EventEnvelope', () => {
  it('has the defaults of every optional field', () => {
    const before = Date.now();
    const event = EventEnvelope.ofJson('CREATED', '{}');
    expect(event).toMatchObject({
      eventType: 'CREATED',
      aggregateType: '__GLOBAL__',
      aggregateId: null,
      tenantId: null,
      payloadJson: '{}',
      orderKey: null,
    });
    expect(event.eventId).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(event.occurredAt).toBeGreaterThanOrEqual(before);
    expect(event.headers.size).toBe(0);
  });

  it('takes every field from its builder', () => {
    const { CREATED } = defineEventTypes('CREATED');
    const { ORDER } = defineAggregateTypes('ORDER');
    const event = EventEnvelope.builder(CREATED)
      .eventId('e1')
      .occurredAt(new Date(5))
      .aggregateType(ORDER)
      .aggregateId('o-1')
      .tenantId('t-1')
      .headers({ a: 'b' })
      .payloadJson('{"x":1}')
      .build();
    expect(event).toMatchObject({
      eventId: 'e1',
      eventType: 'CREATED',
      occurredAt: 5,
      aggregateType: 'ORDER',
      aggregateId: 'o-1',
      tenantId: 't-1',
      payloadJson: '{"x":1}',
      orderKey: 'ORDER:o-1',
    });
    expect([...event.headers]).toEqual([['a', 'b']]);
  });

  it.each([
    ['no event type', { eventType: '', payloadJson: '1' }],
    ['no payload', { eventType: 'A' }],
    ['two payloads', { eventType: 'A', payloadJson: '1', payloadBytes: bytes('1') }],
    [
      'a null key in the headers',
      { eventType: 'A', payloadJson: '1', headers: new Map([[null, 'x']]) },
    ],
    ['a header that is not text', { eventType: 'A', payloadJson: '1', headers: { a: 1 } }],
    ['text that is not JSON', { eventType: 'A', payloadJson: '{secret' }],
    ['bytes that are not JSON', { eventType: 'A', payloadBytes: bytes('{secret') }],
    ['bytes that are not UTF-8', { eventType: 'A', payloadBytes: new Uint8Array([0xff]) }],
    ['an event type that is too long', { eventType: 'A'.repeat(129), payloadJson: '1' }],
    [
      'an aggregate type that is too long',
      { eventType: 'A', aggregateType: 'A'.repeat(65), payloadJson: '1' },
    ],
    ['a time that is none', { eventType: 'A', occurredAt: Number.NaN, payloadJson: '1' }],
  ])('refuses %s, and shows no payload', (_, input) => {
    const build = (): unknown => new EventEnvelope(input as never);
    expect(build).toThrow(expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }));
    expect(build).not.toThrow(/secret/);
  });

  it('accepts a payload of 1,048,576 bytes, and refuses one byte more', () => {
    // Two bytes per letter: the limit counts bytes, not characters.
    const payload = JSON.stringify('ü'.repeat(MAX_PAYLOAD_BYTES / 2 - 1));
    expect(EventEnvelope.ofJson('A', payload).payloadBytes).toHaveLength(MAX_PAYLOAD_BYTES);
    expect(() => EventEnvelope.ofJson('A', `${payload} `)).toThrow(/1048577 bytes/);
  });

  it('serializes the payload once: the text stays the same object for store and listener', () => {
    const text = JSON.stringify({ a: 1 });
    const event = EventEnvelope.ofJson('A', text);
    expect(event.payloadJson).toBe(text);
  });

  it('cannot be changed through what it was built from or what it returns', () => {
    const payloadBinary = new Uint8Array([1, 2]);
    const headers = new Map([['a', 'b']]);
    const event = new EventEnvelope({ eventType: 'A', payloadBinary, headers });
    payloadBinary[0] = 9;
    event.payloadBytes[0] = 9;
    headers.set('c', 'd');
    (event.headers as Map<string, string>).set('e', 'f');
    expect([...event.payloadBytes]).toEqual([1, 2]);
    expect([...event.headers]).toEqual([['a', 'b']]);
    expect(Object.isFrozen(event)).toBe(true);
  });

  it('keeps JSON bytes as their text', () => {
    const event = new EventEnvelope({ eventType: 'A', payloadBytes: bytes('{"a":"ü"}') });
    expect([event.payloadJson, event.isBinary]).toEqual(['{"a":"ü"}', false]);
  });
});

describe('EventType and AggregateType', () => {
  it('are constants or names that are known at run time', () => {
    expect(defineEventTypes('A', 'B').B.name).toBe('B');
    expect(StringEventType.of('Dynamic').name).toBe('Dynamic');
    expect(StringAggregateType.of('ORDER').name).toBe('ORDER');
    expect(AggregateType.GLOBAL.name).toBe('__GLOBAL__');
  });
});

describe('MonotonicUlid', () => {
  it('grows within a millisecond and when the clock goes back', () => {
    let now = 1_000;
    const ulids = new MonotonicUlid({ now: () => now, random: () => 0.999 });
    const ids = Array.from({ length: 2_000 }, () => ulids.next());
    now = 500;
    ids.push(ulids.next());
    now = 1_001;
    ids.push(ulids.next());
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has copies with other headers, which share everything else', () => {
    const payloads = [{ payloadJson: '{"a":1}' }, { payloadBinary: new Uint8Array([1, 2]) }];
    for (const payload of payloads) {
      const event = new EventEnvelope({
        ...{ eventId: 'e1', eventType: 'A', aggregateType: 'ORDER', aggregateId: '1' },
        ...{ tenantId: 't', occurredAt: 5, headers: { a: 'b' }, ...payload },
      });
      const copy = event.withHeaders({ c: 'd' });
      expect([...copy.headers]).toEqual([['c', 'd']]);
      expect([...event.headers]).toEqual([['a', 'b']]);
      const rest = (each: EventEnvelope): readonly unknown[] => [
        ...[each.eventId, each.eventType, each.aggregateType, each.aggregateId],
        ...[each.tenantId, each.occurredAt, each.payloadBytes, each.isBinary],
      ];
      expect(rest(copy)).toEqual(rest(event));
    }
  });
});
