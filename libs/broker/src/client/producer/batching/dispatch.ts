import type { ClosedError } from '../../../port/errors.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import { Deferred, type Timer } from '../../../runtime/index.js';
import { AbortWatch } from '../abort-watch.js';
import { Deadlines } from './deadlines.js';
import { Intake } from './intake.js';
import { MemoryBudget } from './memory-budget.js';
import { SendCall } from '../send-call.js';
import { Sender } from '../sender.js';
import type { DeskOf, SenderContext } from '../sender-options.js';

/** Everything between a call and its records' outcomes, under one producer id: the way in, the way out, deadlines and memory. */
export class Dispatch {
  readonly #context: SenderContext;
  readonly #deadlines: Deadlines;
  readonly #aborts: AbortWatch;
  readonly #intake: Intake;
  readonly #sender: Sender;
  #isPumpPlanned = false;
  #isHurried = false;
  #isOver = false;
  #emptied: Deferred | undefined;

  constructor(
    context: SenderContext,
    private readonly connectionLane: string,
    deskOf: DeskOf,
  ) {
    this.#context = {
      ...context,
      onClusterClosed: (error) => {
        this.end(error);
        context.onClusterClosed(error);
      },
    };
    const { runtime } = context.cluster;
    const memory = new MemoryBudget(context.options.bufferBytes, () => this.#planPump());
    this.#deadlines = new Deadlines(runtime);
    this.#aborts = new AbortWatch(() => this.#planPump());
    const events = {
      settled: () => this.#intake.advance(),
      isHurried: () => this.#isHurried || this.#intake.isBlocked,
    };
    this.#sender = new Sender(this.#context, connectionLane, deskOf, events);
    this.#intake = new Intake(this.#context, memory, {
      filled: (queue) => {
        this.#sender.filled(queue);
        this.#planPump();
      },
      turnOver: () => this.#planPump(),
    });
  }

  get isEmpty(): boolean {
    return this.#deadlines.calls.size === 0;
  }

  send(
    records: readonly OutgoingRecord[],
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly WrittenRecord[]> {
    const call = this.#call(records, timeoutMs, signal);
    this.#intake.enter(call);
    if (signal) this.#aborts.add(signal, call);
    return call.promise;
  }

  /** Whether records wait for company no longer than they must. */
  hurry(isHurried: boolean): void {
    this.#isHurried = isHurried;
    this.#planPump();
  }

  /** Resolves when every call has its outcome, or the time is over. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.isEmpty) return;
    this.#emptied = new Deferred();
    const timer: Timer = this.#context.cluster.runtime.setTimer(
      () => this.#emptied?.resolve(),
      timeoutMs,
    );
    await this.#emptied.promise;
    timer.cancel();
  }

  /** Nothing will be sent or answered any more: every call ends now. */
  end(reason: ClosedError): void {
    this.#isOver = true;
    this.#sender.stop();
    this.#intake.stop();
    for (const call of [...this.#deadlines.calls]) call.cutOff(reason);
    this.#context.cluster.closeLane(this.connectionLane, reason);
  }

  #call(
    records: readonly OutgoingRecord[],
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): SendCall {
    const { runtime } = this.#context.cluster;
    const clock = { sentAt: runtime.now(), startedAt: runtime.monotonic(), timeoutMs };
    const call = new SendCall(records, clock, () => {
      if (signal) this.#aborts.delete(signal, call);
      this.#deadlines.delete(call);
      if (this.isEmpty) this.#emptied?.resolve();
    });
    this.#deadlines.add(call);
    return call;
  }

  /** After whatever else wants to be sent in this turn of the event loop: it shares the request. */
  #planPump(): void {
    if (this.#isPumpPlanned) return;
    this.#isPumpPlanned = true;
    this.#context.cluster.runtime.defer(() => {
      this.#isPumpPlanned = false;
      if (this.#isOver) return;
      this.#sender.pump();
      this.#intake.newTurn();
    });
  }
}
