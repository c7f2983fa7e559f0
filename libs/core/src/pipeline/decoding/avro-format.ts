import { ownError } from '@nest-event-bus/broker';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { SerializedEvent, Serializer } from '../../model/extension-points/serializer.js';
import { isPromiseLike } from '../and-then.js';
import { fieldPath } from '../preparation/field-path.js';
import type { AvroType } from './avro-package.js';
import type { AvroSchemas, LatestSchema } from './avro-schemas.js';
import { readWireFormat, writeWireFormat } from './wire-format.js';

/** Decodes Avro values. Returns a promise only if the schema has to be requested. */
export class AvroDeserializer implements Deserializer {
  readonly name = 'Avro';

  constructor(private readonly schemas: Pick<AvroSchemas, 'byId'>) {}

  deserialize(bytes: Buffer): unknown {
    const { schemaId, body } = readWireFormat(bytes);
    const type = this.schemas.byId(schemaId);
    return isPromiseLike(type) ? decodeLater(type, body) : decode(type, body);
  }
}

async function decodeLater(type: Promise<AvroType>, body: Buffer): Promise<unknown> {
  return decode(await type, body);
}

function decode(type: AvroType, body: Buffer): unknown {
  return plainCopy(type.fromBuffer(body));
}

/**
 * Returns plain objects instead of the classes that avsc creates, because schemas, payload classes
 * and `toEqual` expect plain ones. A prototype that a map key may have set is not copied.
 */
function plainCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainCopy);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainCopy(inner)]));
}

/** Encodes values with the latest schema of the topic's subject. Never registers a schema. */
export class AvroSerializer implements Serializer {
  readonly name = 'Avro';

  constructor(private readonly schemas: Pick<AvroSchemas, 'latestOf'>) {}

  serialize(
    event: unknown,
    { topic }: { readonly topic: string },
  ): SerializedEvent | Promise<SerializedEvent> {
    const latest = this.schemas.latestOf(`${topic}-value`);
    return isPromiseLike(latest) ? encodeLater(latest, event) : encode(latest, event);
  }
}

async function encodeLater(
  latest: Promise<LatestSchema>,
  event: unknown,
): Promise<SerializedEvent> {
  return encode(await latest, event);
}

/**
 * Encodes an event. Throws an error that names the fields that do not fit, without their values.
 */
function encode({ id, type }: LatestSchema, event: unknown): SerializedEvent {
  const wrong: string[] = [];
  const errorHook = (path: readonly string[]): void => {
    wrong.push(fieldPath(path) || 'the whole event');
  };
  if (!type.isValid(event, { errorHook }))
    throw ownError(new TypeError(`it does not fit schema ${id} in: ${wrong.join(', ')}.`));
  return { value: writeWireFormat(id, type.toBuffer(event)) };
}
