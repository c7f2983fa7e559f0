import { type DriverLogger, errorReasonOf } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { FormatName } from '../../config/properties/format-properties.js';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { readsAvro, type ResolvedFormats } from '../../config/resolving/resolve-formats.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import type { Deserializer } from '../../model/extension-points/deserializer.js';
import type { Serializer } from '../../model/extension-points/serializer.js';
import { copyRecord } from '../context/copy-record.js';
import { AvroDeserializer, AvroSerializer } from './avro-format.js';
import { loadAvro, type AvroPackage } from './avro-package.js';
import { AvroSchemas } from './avro-schemas.js';
import {
  buffersOnly,
  jsonDeserializer,
  jsonSerializer,
  rawDeserializer,
  textKeyDeserializer,
  textDeserializer,
  textSerializer,
} from './plain-formats.js';
import { SchemaRegistryClient } from './schema-registry-client.js';
import { TypeRegistry } from './type-registry.js';
import { TypedJsonDeserializer, TypedJsonSerializer } from './typed-json.js';

export interface PayloadFormat {
  readonly deserializer: Deserializer;
  /** Absent with `'auto'`: the key is then decoded when a handler reads it, and never fails. */
  readonly keyDeserializer?: Deserializer | undefined;
  readonly serializer: Serializer;
}

type BindingFormats = Pick<ResolvedBinding, 'name'> & ResolvedFormats;

/**
 * Creates the serializer and deserializer of each binding. Sessions, retry tiers and the publisher
 * share them and their caches.
 */
export class PayloadFormats {
  readonly #created = new WeakMap<BindingFormats, PayloadFormat>();
  readonly #schemas = new WeakMap<BindingFormats, AvroSchemas>();
  #avro: AvroPackage | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
    private readonly load: () => Promise<AvroPackage> = loadAvro,
  ) {}

  /**
   * Loads the packages that these bindings need, so that a missing package makes the start fail,
   * and not the first record.
   */
  async prepare(bindings: readonly BindingFormats[]): Promise<void> {
    const avro = bindings.filter(readsAvro);
    if (avro.length === 0 || this.#avro) return;
    try {
      this.#avro = await this.load();
    } catch (cause) {
      throw missingPackageError(avro, cause);
    }
  }

  of(binding: BindingFormats): PayloadFormat {
    const made = this.#created.get(binding) ?? this.#create(binding);
    this.#created.set(binding, made);
    return made;
  }

  #create(binding: BindingFormats): PayloadFormat {
    const { deserializer } = binding;
    const format =
      typeof deserializer === 'string'
        ? this.#createNamed(deserializer, binding)
        : {
            deserializer: readingCopies(deserializer, 'value'),
            serializer: buffersOnly(deserializer.name),
          };
    return {
      ...format,
      keyDeserializer: this.#keyDeserializerOf(binding),
      serializer: binding.serializer ?? format.serializer,
    };
  }

  #keyDeserializerOf(binding: BindingFormats): Deserializer | undefined {
    const { keyDeserializer } = binding;
    if (typeof keyDeserializer !== 'string') return readingCopies(keyDeserializer, 'key');
    switch (keyDeserializer) {
      case 'auto':
        return undefined;
      case 'text':
        return textKeyDeserializer;
      case 'raw':
        return rawDeserializer;
      case 'json':
        return jsonDeserializer;
      case 'avro':
        return new AvroDeserializer(this.#avroSchemas(binding));
    }
  }

  #createNamed(name: FormatName, binding: BindingFormats): PayloadFormat {
    switch (name) {
      case 'json':
        return { deserializer: jsonDeserializer, serializer: jsonSerializer };
      case 'text':
        return { deserializer: textDeserializer, serializer: textSerializer };
      case 'raw':
        return { deserializer: rawDeserializer, serializer: buffersOnly('raw bytes') };
      case 'typed-json': {
        const { types, trustedPackages } = binding.typedJson;
        const registry = new TypeRegistry(types, trustedPackages);
        return {
          deserializer: new TypedJsonDeserializer(registry),
          serializer: new TypedJsonSerializer(registry),
        };
      }
      case 'avro': {
        const schemas = this.#avroSchemas(binding);
        return {
          deserializer: new AvroDeserializer(schemas),
          serializer: new AvroSerializer(schemas),
        };
      }
    }
  }

  /** Returns the schemas of a binding, which its keys and its values share. */
  #avroSchemas(binding: BindingFormats): AvroSchemas {
    const schemas = this.#schemas.get(binding) ?? this.#createAvroSchemas(binding);
    this.#schemas.set(binding, schemas);
    return schemas;
  }

  #createAvroSchemas({ name, schemaRegistry }: BindingFormats): AvroSchemas {
    const { runtime, logger } = this;
    const avro = this.#avro;
    if (!avro || !schemaRegistry)
      throw new Error(
        `The Avro of binding '${name}' was not prepared. This is a bug of the event bus: please report it.`,
      );
    const client = new SchemaRegistryClient(schemaRegistry, runtime, logger);
    return new AvroSchemas({ avro, client, cacheSize: schemaRegistry.cacheSize, runtime });
  }
}

/**
 * Passes a copy of the record to a deserializer of the application. The deserializer may return the
 * bytes themselves, and a handler may write into them, but retry and dead-letter topics must get
 * the original bytes.
 */
function readingCopies(given: Deserializer, part: 'key' | 'value'): Deserializer {
  return {
    name: given.name,
    deserialize: (_, record) => {
      const own = copyRecord(record);
      return given.deserialize(own[part]!, own);
    },
  };
}

function missingPackageError(
  bindings: readonly BindingFormats[],
  cause: unknown,
): ConfigurationValidationException {
  return new ConfigurationValidationException(
    bindings.map(({ name, deserializer }) => ({
      rule: 'PACKAGE_MISSING',
      binding: name,
      path: `bindings.${name}.${deserializer === 'avro' ? 'deserializer' : 'keyDeserializer'}`,
      value: 'avro',
      message: `Avro is read by the package avsc, which cannot be loaded (${errorReasonOf(cause)}). Run: npm i avsc`,
    })),
  );
}
