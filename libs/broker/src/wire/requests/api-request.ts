import protocol from 'kafkajs/src/protocol/requests/index.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

/** One request with everything needed to send it in the best version that broker and client share. */
export interface ApiRequest<T> {
  readonly apiKey: number;
  readonly apiName: string;
  /** The versions we can write, rising. */
  readonly versions: readonly number[];
  /** The first version with compact types and tagged fields, where one of ours is. */
  readonly flexibleFrom?: number;
  encode(version: number): Buffer | Promise<Buffer>;
  decode(body: Buffer, version: number): T | Promise<T>;
  /** For how long the broker wants to be left alone after this answer. */
  throttleTimeMs?(body: Buffer, version: number): number;
}

/** Where nearly every answer has it. */
const atTheBeginning = (body: Buffer): number => body.readInt32BE(0);

interface OwnRequest<T> {
  readonly apiKey: number;
  readonly apiName: string;
  readonly versions: readonly number[];
  readonly flexibleFrom?: number;
  write(writer: Writer, version: number): void;
  read(reader: Reader, version: number): T;
  /** Default: it begins with it. */
  throttleTimeMs?(body: Buffer, version: number): number;
}

/** A request in an encoding of our own: where kafkajs's are too old, or forget what the broker said. */
export function ownRequest<T>(request: OwnRequest<T>): ApiRequest<T> {
  const { apiKey, apiName, versions, flexibleFrom } = request;
  return {
    apiKey,
    apiName,
    versions,
    ...(flexibleFrom === undefined ? {} : { flexibleFrom }),
    throttleTimeMs: request.throttleTimeMs ?? atTheBeginning,
    encode(version) {
      const writer = new Writer();
      request.write(writer, version);
      return writer.toBuffer();
    },
    decode: (body, version) => request.read(new Reader(body), version),
  };
}

/**
 * A request in kafkajs's encoding. Only its `decode` is used: its `parse` throws the first error
 * of an answer and forgets the others.
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
    throttleTimeMs: atTheBeginning,
    encode: async (version) => (await at(version).request.encode()).buffer,
    decode: async (body, version) => (await at(version).response.decode(body)) as T,
  };
}
