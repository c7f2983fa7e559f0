import type { Socket } from 'node:net';
import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { FlowControl } from './flow-control.js';

interface Parcel {
  readonly bytes: Buffer;
  readonly arrivedAt: number;
}

/** More than this waits in the sockets, so that the sender feels a slow receiver. */
const MOST_WAITING = 256 * 1024;
/** How finely a throttled flow is cut, in seconds. */
const THROTTLE_STEP = 0.02;

/** One direction of one connection: takes bytes from one socket and does to them what the control says. */
export class ByteFlow {
  readonly #waiting: Parcel[] = [];
  #waitingBytes = 0;
  #moving = false;
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
    this.#waiting.push({ bytes, arrivedAt: this.runtime.monotonic() });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > MOST_WAITING) this.source.pause();
    void this.#move();
  }

  #end(): void {
    this.#ended = true;
    void this.#move();
  }

  async #move(): Promise<void> {
    if (this.#moving) return;
    this.#moving = true;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const rest = await this.#handle(next);
      this.#waitingBytes -= next.bytes.length - (rest?.length ?? 0);
      if (rest) this.#waiting[0] = { ...next, bytes: rest };
      else this.#waiting.shift();
      if (this.#waitingBytes <= MOST_WAITING) this.source.resume();
    }
    this.#moving = false;
    if (this.#ended && this.sink.writable) this.sink.end();
  }

  /** Gives back what of the bytes is still to be handled. */
  async #handle({ bytes, arrivedAt }: Parcel): Promise<Buffer | undefined> {
    const { treatment } = this.control;
    switch (treatment.kind) {
      case 'forward':
        await this.#write(bytes);
        return undefined;
      case 'swallow':
        this.control.countSwallowed(bytes.length);
        return undefined;
      case 'delay': {
        const left = arrivedAt + treatment.milliseconds - this.runtime.monotonic();
        if (left > 0 && (await this.#pause(left)) === 'interrupted') return bytes;
        await this.#write(bytes);
        return undefined;
      }
      case 'throttle': {
        const size = Math.max(1, Math.floor(treatment.bytesPerSecond * THROTTLE_STEP));
        const piece = bytes.subarray(0, size);
        await this.#write(piece);
        await this.#pause((piece.length / treatment.bytesPerSecond) * 1_000);
        return restOf(bytes, piece.length);
      }
      case 'cut-after': {
        const piece = bytes.subarray(0, treatment.bytes);
        await this.#write(piece);
        if (!this.control.spendUntilCut(piece.length)) return restOf(bytes, piece.length);
        this.#cut();
        return undefined;
      }
    }
  }

  /** The last bytes still arrive; then the receiver sees an orderly end in mid-sentence. */
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
      // A sink that broke tells so by its own events; its bytes are gone either way.
      this.sink.write(bytes, () => resolve());
    });
  }
}

function restOf(bytes: Buffer, done: number): Buffer | undefined {
  return done < bytes.length ? bytes.subarray(done) : undefined;
}
