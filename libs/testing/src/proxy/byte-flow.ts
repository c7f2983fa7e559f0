import type { Socket } from 'node:net';
import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { FlowControl } from './flow-control.js';

interface Chunk {
  readonly bytes: Buffer;
  readonly arrivedAt: number;
}

/**
 * The limit of queued bytes. Above it, the proxy does not read from the socket, so that the sender
 * notices a slow receiver.
 */
const MAX_QUEUED_BYTES = 256 * 1024;
/** The interval of a throttled flow, in seconds. */
const THROTTLE_STEP_SECONDS = 0.02;

/**
 * A direction of a connection. Reads bytes from one socket and forwards, delays or drops them, as
 * the mode of its control says.
 */
export class ByteFlow {
  readonly #queue: Chunk[] = [];
  #queuedBytes = 0;
  #isForwarding = false;
  #ended = false;

  constructor(
    private readonly runtime: Runtime,
    private readonly source: Socket,
    private readonly sink: Socket,
    private readonly control: FlowControl,
  ) {
    source.on('data', (bytes: Buffer) => this.#accept(bytes));
    source.on('end', () => this.#end());
    source.on('close', () => this.#end());
  }

  #accept(bytes: Buffer): void {
    this.#queue.push({ bytes, arrivedAt: this.runtime.monotonic() });
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.source.pause();
    void this.#forwardQueue();
  }

  #end(): void {
    this.#ended = true;
    void this.#forwardQueue();
  }

  async #forwardQueue(): Promise<void> {
    if (this.#isForwarding) return;
    this.#isForwarding = true;
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const rest = await this.#handle(next);
      this.#queuedBytes -= next.bytes.length - (rest?.length ?? 0);
      if (rest) this.#queue[0] = { ...next, bytes: rest };
      else this.#queue.shift();
      if (this.#queuedBytes <= MAX_QUEUED_BYTES) this.source.resume();
    }
    this.#isForwarding = false;
    if (this.#ended && this.sink.writable) this.sink.end();
  }

  /** Handles one chunk and returns its bytes that are not handled yet. */
  async #handle({ bytes, arrivedAt }: Chunk): Promise<Buffer | undefined> {
    const { mode } = this.control;
    switch (mode.kind) {
      case 'forward':
        await this.#write(bytes);
        return undefined;
      case 'swallow':
        this.control.countSwallowed(bytes.length);
        return undefined;
      case 'delay': {
        const left = arrivedAt + mode.milliseconds - this.runtime.monotonic();
        if (left > 0 && (await this.#pause(left)) === 'interrupted') return bytes;
        await this.#write(bytes);
        return undefined;
      }
      case 'throttle': {
        const size = Math.max(1, Math.floor(mode.bytesPerSecond * THROTTLE_STEP_SECONDS));
        const piece = bytes.subarray(0, size);
        await this.#write(piece);
        await this.#pause((piece.length / mode.bytesPerSecond) * 1_000);
        return remainder(bytes, piece.length);
      }
      case 'cut-after': {
        const piece = bytes.subarray(0, mode.bytes);
        await this.#write(piece);
        if (!this.control.countUntilCut(piece.length)) return remainder(bytes, piece.length);
        this.#cut();
        return undefined;
      }
    }
  }

  /**
   * Delivers the last bytes before the cut. The receiver then sees a normal end of the connection
   * in the middle of the data.
   */
  #cut(): void {
    this.sink.end(() => this.sink.destroy());
    this.source.destroy();
  }

  async #pause(milliseconds: number): Promise<'passed' | 'interrupted'> {
    const { changed } = this.control;
    try {
      await sleep(this.runtime, milliseconds, changed, { background: true });
      return 'passed';
    } catch (error) {
      if (changed.aborted) return 'interrupted';
      throw error;
    }
  }

  #write(bytes: Buffer): Promise<void> {
    if (!this.sink.writable || bytes.length === 0) return Promise.resolve();
    this.control.countForwarded(bytes.length);
    return new Promise((resolve) => {
      // Continues although the write may have failed: a broken sink reports its error by its own
      // events, and the bytes are lost in any case.
      this.sink.write(bytes, () => resolve());
    });
  }
}

function remainder(bytes: Buffer, done: number): Buffer | undefined {
  return done < bytes.length ? bytes.subarray(done) : undefined;
}
