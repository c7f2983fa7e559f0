import type { BrokerRecord } from '@nest-event-bus/broker';
import { instanceToPlain, plainToInstance } from 'class-transformer';
import { isPlainObject } from '../../config/reading/plain-object.js';
import { headerText } from '../../model/records/header-text.js';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { SerializedEvent, Serializer } from '../../model/extension-points/serializer.js';
import { jsonDeserializer, jsonOf } from './plain-formats.js';
import { describeTypeId, type TypeRegistry } from './type-registry.js';
import { UnreadableValueError } from './unreadable-value-error.js';

/** The header in which Spring names the class of a value. */
const TYPE_ID = '__TypeId__';

/**
 * Decodes JSON to an instance of the class that a header names. Without the header the value is
 * plain JSON. A missing header bypasses no check, because the payload class or schema still
 * validates the value.
 */
export class TypedJsonDeserializer implements Deserializer {
  readonly name = 'typed JSON';

  constructor(private readonly types: TypeRegistry) {}

  deserialize(bytes: Buffer, record: BrokerRecord): unknown {
    const id = headerText(record.headers, TYPE_ID);
    if (id === undefined) return jsonDeserializer.deserialize(bytes, record);
    const type = this.types.classOf(id);
    const value = jsonDeserializer.deserialize(bytes, record);
    if (!isPlainObject(value))
      throw new UnreadableValueError(`it is no object, but a header names ${describeTypeId(id)}`);
    return plainToInstance(type, value);
  }
}

/**
 * Encodes instances of registered classes with their type id, and everything else as plain JSON.
 */
export class TypedJsonSerializer implements Serializer {
  readonly name = 'typed JSON';

  constructor(private readonly types: TypeRegistry) {}

  serialize(event: unknown): SerializedEvent {
    const id = this.types.idOf(event);
    if (id === undefined) return { value: jsonOf(event) };
    return { value: jsonOf(instanceToPlain(event)), headers: { [TYPE_ID]: id } };
  }
}
