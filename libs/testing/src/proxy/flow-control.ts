/** The handling of bytes in one direction. */
export type FlowMode =
  | { readonly kind: 'forward' }
  | { readonly kind: 'delay'; readonly milliseconds: number }
  | { readonly kind: 'throttle'; readonly bytesPerSecond: number }
  | { readonly kind: 'swallow' }
  | { readonly kind: 'cut-after'; readonly bytes: number };

export interface ByteCount {
  readonly forwarded: number;
  readonly swallowed: number;
}

/** The mode of one direction, shared by all connections of a proxy, and its byte counts. */
export class FlowControl {
  #mode: FlowMode = { kind: 'forward' };
  #change = new AbortController();
  #forwarded = 0;
  #swallowed = 0;

  get mode(): FlowMode {
    return this.#mode;
  }

  /** Aborts at the next change of mode, so that waiting bytes are handled again. */
  get changed(): AbortSignal {
    return this.#change.signal;
  }

  get bytes(): ByteCount {
    return { forwarded: this.#forwarded, swallowed: this.#swallowed };
  }

  set(mode: FlowMode): void {
    this.#mode = mode;
    this.#change.abort();
    this.#change = new AbortController();
  }

  countForwarded(bytes: number): void {
    this.#forwarded += bytes;
  }

  countSwallowed(bytes: number): void {
    this.#swallowed += bytes;
  }

  /**
   * Counts bytes before the cut; returns true when the limit is reached, which ends the mode for
   * later connections.
   */
  countUntilCut(bytes: number): boolean {
    if (this.#mode.kind !== 'cut-after') return false;
    const left = this.#mode.bytes - bytes;
    this.#mode = left > 0 ? { kind: 'cut-after', bytes: left } : { kind: 'forward' };
    return left <= 0;
  }
}
