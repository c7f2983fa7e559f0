import { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import type { JsonCodec } from '../util/json-codec.js';

/** Turns a row into the envelope that was written. Throws if the headers cannot be decoded. */
export function decodeEvent(row: OutboxEvent, codec: JsonCodec): EventEnvelope {
  const { payload } = row;
  return new EventEnvelope(
    {
      eventId: row.eventId,
      eventType: row.eventType,
      occurredAt: row.createdAt,
      aggregateType: row.aggregateType,
      aggregateId: row.aggregateId,
      tenantId: row.tenantId,
      headers: codec.parseObject(row.headersJson),
      ...(typeof payload === 'string' ? { payloadJson: payload } : { payloadBinary: payload }),
    },
    true,
  );
}
