import protocol from 'kafkajs/src/protocol/requests/index.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

/**
 * A request with its encoding. It is sent in the highest version that both the broker and this
 * client support.
 */
export interface ApiRequest<T> {
  readonly apiKey: number;
  readonly apiName: string;
  /** The versions that this client can encode, in ascending order. */
  readonly versions: readonly number[];
  /**
   * The first flexible version (with compact types and tagged fields), if this client supports one.
   */
  readonly flexibleFrom?: number;
  encode(version: number): Buffer | Promise<Buffer>;
  decode(body: Buffer, version: number): T | Promise<T>;
  /** Returns how long the broker throttles this client after the response. */
  throttleTimeMs?(body: Buffer, version: number): number;
}

/** The position of the throttle time in nearly all responses. */
const throttleTimeAtStart = (body: Buffer): number => body.readInt32BE(0);

interface RequestDefinition<T> {
  readonly apiKey: number;
  readonly apiName: string;
  readonly versions: readonly number[];
  readonly flexibleFrom?: number;
  write(writer: Writer, version: number): void;
  read(reader: Reader, version: number): T;
  /** Default: the response starts with the throttle time. */
  throttleTimeMs?(body: Buffer, version: number): number;
}

/**
 * Creates a request with an encoding of this library, for requests whose kafkajs encoding is too
 * old or loses parts of the response.
 */
export function defineRequest<T>(request: RequestDefinition<T>): ApiRequest<T> {
  const { apiKey, apiName, versions, flexibleFrom } = request;
  return {
    apiKey,
    apiName,
    versions,
    ...(flexibleFrom === undefined ? {} : { flexibleFrom }),
    throttleTimeMs: request.throttleTimeMs ?? throttleTimeAtStart,
    encode(version) {
      const writer = new Writer();
      request.write(writer, version);
      return writer.toBuffer();
    },
    decode: (body, version) => request.read(new Reader(body), version),
  };
}

/**
 * Creates a request with the encoding of kafkajs. Only its `decode` is used, because its `parse`
 * throws the first error of a response and loses the others.
 */
export function kafkajsRequest<T>(
  name: string,
  parameters: unknown,
  versions?: readonly number[],
): ApiRequest<T> {
  const definition = protocol.requests[name];
  if (!definition) throw new TypeError(`kafkajs has no request named ${name}.`);
  const known = definition.versions.map(Number).sort((left, right) => left - right);
  const at = (version: number) => definition.protocol({ version })(parameters);
  const { apiKey, apiName } = at(known[0] as number).request;
  return {
    apiKey,
    apiName,
    versions: versions ?? known,
    throttleTimeMs: throttleTimeAtStart,
    encode: async (version) => (await at(version).request.encode()).buffer,
    decode: async (body, version) => (await at(version).response.decode(body)) as T,
  };
}
