import type { OutgoingHeader, OutgoingRecord } from '@nest-event-bus/broker';
import { IllegalArgumentError } from '@nest-event-bus/core';
import { instanceToPlain } from 'class-transformer';
import type { Message } from '../../core/message.js';

/** The header with the id of a message. */
export const MESSAGE_ID_HEADER = 'message-id';

/** The header in which Spring names the class of a payload. */
export const TYPE_ID_HEADER = '__TypeId__';

/** Classes by the type id that is written with their instances. */
export type PayloadTypes = Readonly<Record<string, new (...args: never[]) => object>>;

/**
 * Creates the record of a message. A Buffer is written unchanged, null as a tombstone, and anything
 * else as JSON. The id of the message replaces a header of that name.
 */
export function outgoingMessage(message: Message, types: PayloadTypes): OutgoingRecord {
  const { topic, key, timestamp, payload } = message;
  const typeId = typeIdOf(payload, types);
  const own: Readonly<Record<string, string>> = {
    ...(typeId === undefined ? {} : { [TYPE_ID_HEADER]: typeId }),
    ...message.headers,
    [MESSAGE_ID_HEADER]: message.id,
  };
  const headers = Object.entries(own).map(([name, value]): OutgoingHeader => ({
    key: name,
    value,
  }));
  return { topic, key, timestamp, headers, value: valueOf(payload, typeId !== undefined) };
}

function typeIdOf(payload: unknown, types: PayloadTypes): string | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  return Object.entries(types).find(([, type]) => payload.constructor === type)?.[0];
}

function valueOf(payload: unknown, isTyped: boolean): Buffer | string | null {
  if (payload === null || Buffer.isBuffer(payload)) return payload;
  const json = JSON.stringify(isTyped ? instanceToPlain(payload) : payload) as string | undefined;
  if (json !== undefined) return json;
  throw new IllegalArgumentError(
    `A payload of type ${typeof payload} has no JSON. Pass an object, text, a number, a Buffer or null.`,
  );
}
