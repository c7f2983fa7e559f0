import type { ClosedError } from '../../../port/errors.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import { Deferred, type Timer } from '../../../runtime/index.js';
import { CallWatch } from './call-watch.js';
import { RecordAccumulator } from './record-accumulator.js';
import { MemoryBudget } from './partition-queue.js';
import { SendCall } from '../send-call.js';
import { Sender } from '../sender.js';
import type { PartitionRegistrarFactory, SenderContext } from '../sender-context.js';

/**
 * Runs all sends under one producer id. Connects accumulator, sender, deadlines, abort signals and
 * memory.
 */
export class SendPipeline {
  readonly #context: SenderContext;
  readonly #watch: CallWatch;
  readonly #accumulator: RecordAccumulator;
  readonly #sender: Sender;
  #isPumpScheduled = false;
  #skipsLinger = false;
  #isClosed = false;
  #drained: Deferred | undefined;

  constructor(
    context: SenderContext,
    private readonly channel: string,
    createRegistrar: PartitionRegistrarFactory,
  ) {
    this.#context = {
      ...context,
      onClusterClosed: (error) => {
        // Ends all calls before the sender stops, because their responses will never arrive.
        this.close(error);
        context.onClusterClosed(error);
      },
    };
    const memory = new MemoryBudget(context.options.bufferBytes, this.#schedulePump);
    this.#watch = new CallWatch(context.cluster.runtime, this.#schedulePump);
    this.#sender = new Sender(this.#context, channel, createRegistrar, {
      onSettled: () => this.#accumulator.encodePending(),
      skipsLinger: () => this.#skipsLinger || this.#accumulator.isBlocked,
    });
    this.#accumulator = new RecordAccumulator(this.#context, memory, {
      onQueueFilled: (queue) => {
        this.#sender.enqueueIfIdle(queue);
        this.#schedulePump();
      },
      onTurnUsedUp: this.#schedulePump,
    });
  }

  get isEmpty(): boolean {
    return this.#watch.calls.size === 0;
  }

  send(
    records: readonly OutgoingRecord[],
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly WrittenRecord[]> {
    const { runtime } = this.#context.cluster;
    const timing = { sentAt: runtime.now(), startedAt: runtime.monotonic(), timeoutMs };
    const call = new SendCall(records, timing, () => {
      this.#watch.delete(call, signal);
      if (this.isEmpty) this.#drained?.resolve();
    });
    this.#accumulator.add(call);
    this.#watch.add(call, signal);
    return call.promise;
  }

  /**
   * Turns lingering off or on. Without lingering, batches are sent without waiting for more
   * records.
   */
  skipLinger(isSkipped: boolean): void {
    this.#skipsLinger = isSkipped;
    this.#schedulePump();
  }

  /** Resolves when every call has its outcome, or after the timeout. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.isEmpty) return;
    this.#drained = new Deferred();
    const timer: Timer = this.#context.cluster.runtime.setTimer(
      () => this.#drained?.resolve(),
      timeoutMs,
    );
    await this.#drained.promise;
    timer.cancel();
  }

  /** Ends every call at once. Afterwards no request is sent, and no response is processed. */
  close(reason: ClosedError): void {
    this.#isClosed = true;
    this.#sender.stop();
    this.#accumulator.stop();
    for (const call of [...this.#watch.calls]) call.end(reason);
    this.#context.cluster.closeChannel(this.channel, reason);
  }

  /**
   * Runs after all other work of this turn of the event loop, so that all sends of the turn share a
   * request.
   */
  readonly #schedulePump = (): void => {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    this.#context.cluster.runtime.defer(() => {
      this.#isPumpScheduled = false;
      if (this.#isClosed) return;
      this.#sender.pump();
      this.#accumulator.startTurn();
    });
  };
}
