/** Splits a broker's bytes into responses, and replaces the port advertised in them. */
export class ResponseFrames {
  readonly #advertised: Buffer;
  readonly #replacement: Buffer;
  #rest: Buffer = Buffer.alloc(0);

  constructor(broker: { readonly host: string; readonly port: number }, port: number) {
    this.#advertised = hostAndPort(broker.host, broker.port);
    this.#replacement = hostAndPort(broker.host, port);
  }

  push(bytes: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) break;
      frames.push(this.#replaceAddress(this.#rest.subarray(0, end)));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }

  #replaceAddress(frame: Buffer): Buffer {
    let at = frame.indexOf(this.#advertised);
    while (at >= 0) {
      this.#replacement.copy(frame, at);
      at = frame.indexOf(this.#advertised, at + this.#advertised.length);
    }
    return frame;
  }
}

/** Encodes an address as responses contain it: the host as text, then the port in four bytes. */
function hostAndPort(host: string, port: number): Buffer {
  const portBytes = Buffer.alloc(4);
  portBytes.writeInt32BE(port);
  return Buffer.concat([Buffer.from(host), portBytes]);
}
