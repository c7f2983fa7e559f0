import type { RecordHeader } from '@nest-event-bus/broker';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ResolvedIdempotencyKey } from '../../config/properties/idempotency-properties.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { IdempotencyKeyException } from '../../errors/idempotency-errors.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { bindingOf, deliveryOf, type DeliveredRecord } from '../pipeline.spec-support.js';
import { RecordCall } from '../record-call.js';
import { ReceivedRecord } from '../context/received-record.js';
import { createRecordKeys } from './store-key.js';

interface Given extends DeliveredRecord {
  readonly topic?: string;
  readonly timestamp?: number;
  readonly bytes?: RecordHeader;
}

function callOf({ topic, timestamp, bytes, ...given }: Given): RecordCall {
  const base = deliveryOf(given);
  const record = {
    ...base.record,
    ...(topic === undefined ? {} : { topic }),
    ...(timestamp === undefined ? {} : { timestamp }),
    headers: [...base.record.headers, ...(bytes ? [bytes] : [])],
  };
  const delivery = { ...base, record, signal: new AbortController().signal };
  const call = new RecordCall(delivery);
  call.record = new ReceivedRecord(call, { binding: 'b', hostname: 'h' }, given.value);
  return call;
}

const keyOf = (
  given: Given = {},
  key: ResolvedIdempotencyKey = 'position',
  binding: Partial<ResolvedBinding> = {},
): string => {
  const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, key };
  return createRecordKeys(bindingOf({ ...binding, idempotency }))(callOf(given));
};

const byFunction = (of: (record: EventRecord) => unknown) =>
  ({ of }) as { readonly of: (record: EventRecord) => string };

const hop = (headers: Readonly<Record<string, string>> = {}): Given => ({
  topic: 'orders.events.retry-1',
  offset: 700,
  timestamp: 1_600_000_099_000,
  headers: {
    'x-eventbus-original-topic': 'orders.events',
    'x-eventbus-original-partition': '1',
    'x-eventbus-original-offset': '42',
    'x-eventbus-original-timestamp': '1600000000000',
    ...headers,
  },
});

describe('The position key of a record', () => {
  it('contains its original position, its timestamp and the binding', () => {
    expect(keyOf({ offset: 42 })).toBe(
      'default/order-service/orders/orders.events-1-42@1600000000000',
    );
  });

  it('stays the same in a retry topic', () => {
    expect(keyOf(hop())).toBe(keyOf({ offset: 42 }));
    expect(keyOf({ ...hop(), topic: 'orders.events.retry-2', offset: 3 })).toBe(keyOf(hop()));
  });

  it('differs from that of a record with the same offset after the topic was recreated', () => {
    expect(keyOf({ offset: 42, timestamp: 1_700_000_000_000 })).not.toBe(keyOf({ offset: 42 }));
  });

  it.each([
    ['another topic', { 'x-eventbus-original-topic': 'payments' }],
    ['half a position', { 'x-eventbus-original-offset': '' }],
    ['a position that is none', { 'x-eventbus-original-offset': 'x' }],
  ])('does not depend on headers that name %s', (_what, headers) => {
    expect(keyOf(hop(headers))).toBe(
      'default/order-service/orders/orders.events.retry-1-1-700@1600000099000',
    );
  });

  it('stays the same if the record is replayed to its own topic', () => {
    const replayed = { ...hop({ 'x-eventbus-replay-count': '1' }), topic: 'orders.events' };
    expect(keyOf(replayed)).toBe(keyOf({ offset: 42 }));
  });

  it('has the position of the new record if an event was published with copied retry headers', () => {
    expect(keyOf({ ...hop(), topic: 'orders.events' })).toBe(
      'default/order-service/orders/orders.events-1-700@1600000099000',
    );
  });

  it('stays the same in retry topics if the header of the original timestamp is missing', () => {
    const { 'x-eventbus-original-timestamp': _, ...headers } = hop().headers ?? {};
    const first = keyOf({ ...hop(), headers });
    expect(keyOf({ ...hop(), headers, offset: 9, timestamp: 1 })).toBe(first);
  });
});

describe('The key of a record in another scope', () => {
  it.each<[string, Partial<ResolvedBinding>]>([
    ['group', { groupId: 'billing' }],
    ['binding', { name: 'orders-2' }],
    ['cluster', { cluster: 'east' }],
  ])('differs for another %s', (_what, binding) => {
    expect(keyOf({}, 'position', binding)).not.toBe(keyOf());
  });

  it('differs even if names contain the separators of the key', () => {
    expect(keyOf({}, 'position', { groupId: 'a/b', name: 'c' })).not.toBe(
      keyOf({}, 'position', { groupId: 'a', name: 'b/c' }),
    );
    expect(keyOf({}, 'position', { groupId: 'a/b' })).not.toBe(
      keyOf({}, 'position', { groupId: 'a%2Fb' }),
    );
  });
});

describe('The idempotency key of a record, from a header', () => {
  const key = { header: 'message-id' };

  it('is the same at every position', () => {
    expect(keyOf({ headers: { 'message-id': 'm-1' } }, key)).toBe(
      'default/order-service/orders/m-1',
    );
    expect(keyOf(hop({ 'message-id': 'm-1' }), key)).toBe('default/order-service/orders/m-1');
  });

  it.each([
    ['without it', {}],
    ['where it is empty', { headers: { 'message-id': '' } }],
    ['where it has no value', { bytes: { key: 'message-id', value: null } }],
  ])('is undefined %s', (_what, given) => {
    expect(() => keyOf(given, key)).toThrow(IdempotencyKeyException);
    expect(() => keyOf(given, key)).toThrow(
      "orders.events-1-0 cannot be distinguished from a second delivery of the same: it has no header 'message-id' with a value. Correct what its producer writes, or give binding 'orders' another idempotency.key.",
    );
  });

  it('differs for bytes that decode to the same text', () => {
    const of = (...bytes: readonly number[]) =>
      keyOf({ bytes: { key: 'message-id', value: Buffer.from(bytes) } }, key);
    expect(of(0xff, 0xfe)).not.toBe(of(0xfe, 0xff));
    expect(of(0xff, 0xfe)).toBe(of(0xff, 0xfe));
  });

  it.each(['a b', 'größe', '\u0000', 'x'.repeat(251), 'sha256 0000'])(
    'is a digest if a store could not keep the text unchanged: %j',
    (id) => {
      const found = keyOf({ headers: { 'message-id': id } }, key);
      expect(found).toMatch(/^default\/order-service\/orders\/sha256 [0-9a-f]{64}$/);
      expect(found).not.toBe(keyOf({ headers: { 'message-id': `${id}.` } }, key));
    },
  );

  it('has at most 512 characters, all of them printable', () => {
    const binding = { groupId: 'ü'.repeat(400), name: 'n'.repeat(100), cluster: 'c'.repeat(100) };
    const long = keyOf({ headers: { 'message-id': 'm'.repeat(250) } }, key, binding);
    expect(long).toMatch(/^[\x20-\x7e]{1,512}$/);
  });
});

describe('The key of a record from a function', () => {
  it('is the text that the function returns', () => {
    const key = byFunction(({ value, topic }) => `${topic}:${(value as { id: number }).id}`);
    expect(keyOf({ value: { id: 7 } }, key)).toBe('default/order-service/orders/orders.events:7');
  });

  it.each([
    ['nothing', () => undefined],
    ['an empty text', () => ''],
    ['a number', () => 7],
    ['a promise', () => Promise.reject(new Error('late'))],
  ])('is undefined if the function returns %s', (_what, of) => {
    expect(() => keyOf({}, byFunction(of))).toThrow(/idempotency\.key did not give a text/);
  });

  it('is undefined if the function throws, and the error keeps the cause', () => {
    const cause = new TypeError('no id');
    const of = byFunction(() => {
      throw cause;
    });
    expect(() => keyOf({}, of)).toThrow(
      expect.objectContaining({ code: 'IDEMPOTENCY_KEY', retriable: false, cause }),
    );
  });
});
