import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { defineRequest } from '../requests/api-request.js';
import { Writer } from '../requests/writer.js';

/** A time longer than any test, so that a wait without its own limit fails the test. */
export const NEVER_MS = 600_000;

export const API_VERSIONS = 18;

/** A broker that answers ApiVersions and no other request. */
export class SilentBroker {
  readonly sockets: Socket[] = [];
  readonly #server: Server = createServer((socket) => {
    this.sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (request: Buffer) => {
      if (request.readInt16BE(4) !== API_VERSIONS) return this.#split(request, socket);
      const version = request.readInt16BE(6);
      this.versionsAsked.push(version);
      const body = version > this.newest ? this.#refusal() : this.#versions(version);
      const head = Buffer.alloc(8);
      head.writeInt32BE(4 + body.length, 0);
      request.copy(head, 4, 8, 12);
      socket.write(Buffer.concat([head, body]));
    });
  });
  /** The newest version of ApiVersions that the broker supports. */
  newest = 3;
  readonly versionsAsked: number[] = [];
  /** Called for each request that gets no response. */
  onRequest: ((request: Buffer, socket: Socket) => void) | undefined;

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Splits the bytes, because several requests may arrive in one chunk. */
  #split(bytes: Buffer, socket: Socket): void {
    for (let rest = bytes; rest.length > 0;) {
      const length = 4 + rest.readInt32BE(0);
      this.onRequest?.(rest.subarray(0, length), socket);
      rest = rest.subarray(length);
    }
  }

  #versions(version: number): Buffer {
    const writer = new Writer().int16(0);
    const keys = [API_VERSIONS, 3, 17, 36];
    if (version < 3)
      return writer
        .array(keys, (key) => writer.int16(key).int16(0).int16(12))
        .int32(0)
        .toBuffer();
    writer.compactArray(keys, (key) => writer.int16(key).int16(0).int16(12).noTags()).int32(0);
    const features = new Writer();
    features.compactArray(['transaction.version'], (name) =>
      features.compactString(name).int16(2).int16(0).noTags(),
    );
    const tagged = [Buffer.from('ignored'), new Writer().int64(7).toBuffer(), features.toBuffer()];
    writer.unsignedVarint(tagged.length);
    for (const [tag, bytes] of tagged.entries())
      writer.unsignedVarint(tag).unsignedVarint(bytes.length).raw(bytes);
    return writer.toBuffer();
  }

  /** Returns a refusal encoded in version 0, for any requested version. */
  #refusal(): Buffer {
    const writer = new Writer().int16(35);
    return writer
      .array([API_VERSIONS], (key) => writer.int16(key).int16(0).int16(this.newest))
      .toBuffer();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when a request arrives that gets no response. */
  asked(): Promise<void> {
    return new Promise((resolve) => (this.onRequest = () => resolve()));
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}

export const connectionOptionsFor = ({ port }: SilentBroker) => ({
  host: '127.0.0.1',
  port,
  clientId: 'spec',
  connectionTimeoutMs: NEVER_MS,
});

export const question = defineRequest({
  apiKey: 3,
  apiName: 'Question',
  versions: [0],
  write: () => undefined,
  read: (reader) => reader.int32(),
});

/** The response to `question`, with a throttle time. */
export function throttlingResponse(request: Buffer, throttleMs: number): Buffer {
  const answer = Buffer.alloc(12);
  answer.writeInt32BE(8, 0);
  request.copy(answer, 4, 8, 12);
  answer.writeInt32BE(throttleMs, 8);
  return answer;
}

/** The response to SaslHandshake, version 1, as the second request of its connection. */
export function handshakeAccepted(mechanism: string): Buffer {
  const answer = Buffer.alloc(4 + 4 + 2 + 4 + 2 + mechanism.length);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(1, 4);
  answer.writeInt32BE(1, 10);
  answer.writeInt16BE(mechanism.length, 14);
  answer.write(mechanism, 16);
  return answer;
}

/**
 * The response to SaslAuthenticate, version 1, as the third request, with a session that does not
 * expire.
 */
export function authenticated(text: string): Buffer {
  const answer = Buffer.alloc(4 + 4 + 2 + 2 + 4 + text.length + 8);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(2, 4);
  answer.writeInt16BE(-1, 10);
  answer.writeInt32BE(text.length, 12);
  answer.write(text, 16);
  return answer;
}
