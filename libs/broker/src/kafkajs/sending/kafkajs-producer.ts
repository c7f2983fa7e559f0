import { ClosedError, UnsupportedError } from '../../port/errors.js';
import type { DriverLogger } from '../../port/driver.js';
import type {
  ProducerOptions,
  ProducerSession,
  SendOptions,
  Transaction,
} from '../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../port/record.js';
import { validateProducerOptions } from '../../port/validate-options.js';
import { validateOutgoingRecords, validateSendOptions } from '../../port/validate-records.js';
import { codecOf, writableCompressions } from '../../records/index.js';
import { Deferred, type Timer } from '../../runtime/index.js';
import { AbortWatch } from './abort-watch.js';
import { Deadlines } from './deadlines.js';
import { Intake } from './intake.js';
import { MemoryBudget } from './memory-budget.js';
import { SendCall } from './send-call.js';
import { Sender } from './sender.js';
import type { SenderCluster, SenderContext } from './sender-options.js';

export interface KafkajsProducerOptions {
  readonly cluster: SenderCluster;
  /** Names the producer's own connections: its requests wait for nobody else's. */
  readonly producerId: string;
  readonly options?: ProducerOptions;
  readonly logger: DriverLogger;
  onClosed?(): void;
}

/** What `validateProducerOptions` has to know of the driver. */
const COMPRESSIONS = { compressions: writableCompressions };
/** The longest that `close` waits for what is under way. */
const LONGEST_CLOSE_MS = 30_000;

/**
 * Sends records to the leaders of their partitions. Every acknowledgement is by all in-sync
 * replicas; a send that fails tells of each record whether it was written. A retry after a lost
 * answer writes nothing twice, unless `idempotent` is false: then at least once.
 */
export class KafkajsProducer implements ProducerSession {
  readonly #context: SenderContext;
  readonly #connectionLane: string;
  readonly #onClosed: (() => void) | undefined;
  readonly #deadlines: Deadlines;
  readonly #aborts: AbortWatch;
  readonly #intake: Intake;
  readonly #sender: Sender;
  #isPumpPlanned = false;
  #closing: Promise<void> | undefined;
  #closed: ClosedError | undefined;
  #emptied: Deferred | undefined;

  constructor({ cluster, producerId, options = {}, logger, onClosed }: KafkajsProducerOptions) {
    this.#onClosed = onClosed;
    const resolved = validateProducerOptions(options, COMPRESSIONS);
    const memory = new MemoryBudget(resolved.bufferBytes, () => this.#planPump());
    this.#context = {
      cluster,
      logger,
      options: resolved,
      codec: codecOf(resolved.compression),
      onClusterClosed: (error) => this.#shutDown(error),
    };
    this.#connectionLane = `produce:${producerId}`;
    this.#deadlines = new Deadlines(cluster.runtime);
    this.#aborts = new AbortWatch(() => this.#planPump());
    this.#sender = new Sender(this.#context, this.#connectionLane, {
      settled: () => this.#intake.advance(),
      isHurried: () => this.#closing !== undefined || this.#intake.isBlocked,
    });
    this.#intake = new Intake(this.#context, memory, {
      filled: (queue) => {
        this.#sender.filled(queue);
        this.#planPump();
      },
      turnOver: () => this.#planPump(),
    });
  }

  send(
    records: readonly OutgoingRecord[],
    options: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (this.#closed) return Promise.reject(this.#closed);
    try {
      validateOutgoingRecords(records);
      validateSendOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (records.length === 0) return Promise.resolve([]);
    const call = this.#call(records, this.#timeoutOf(options), options.signal);
    this.#intake.enter(call);
    if (options.signal) this.#aborts.add(options.signal, call);
    return call.promise;
  }

  transaction(): Promise<Transaction> {
    return Promise.reject(
      new UnsupportedError(
        'Transactions are not yet in this driver. Check capabilities.transactions before asking for one.',
      ),
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
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
      if (this.#deadlines.calls.size === 0) this.#emptied?.resolve();
    });
    this.#deadlines.add(call);
    return call;
  }

  #timeoutOf({ timeoutMs }: SendOptions): number {
    const { deliveryTimeoutMs } = this.#context.options;
    return Math.min(timeoutMs ?? deliveryTimeoutMs, deliveryTimeoutMs);
  }

  /** After whatever else wants to be sent in this turn of the event loop: it shares the request. */
  #planPump(): void {
    if (this.#isPumpPlanned) return;
    this.#isPumpPlanned = true;
    this.#context.cluster.runtime.defer(() => {
      this.#isPumpPlanned = false;
      if (this.#closed && this.#deadlines.calls.size === 0) return;
      this.#sender.pump();
      this.#intake.newTurn();
    });
  }

  async #close(): Promise<void> {
    this.#closed ??= new ClosedError('The producer was closed. Open a new one to send again.');
    if (this.#deadlines.calls.size > 0) await this.#emptyWithin(this.#closingTime);
    this.#shutDown(this.#closed);
    this.#onClosed?.();
  }

  get #closingTime(): number {
    return Math.min(this.#context.options.deliveryTimeoutMs, LONGEST_CLOSE_MS);
  }

  async #emptyWithin(timeoutMs: number): Promise<void> {
    this.#emptied = new Deferred();
    this.#planPump();
    const { runtime } = this.#context.cluster;
    const timer: Timer = runtime.setTimer(() => this.#emptied?.resolve(), timeoutMs);
    await this.#emptied.promise;
    timer.cancel();
  }

  /** Nothing will be sent or answered any more: every call ends now. */
  #shutDown(reason: ClosedError): void {
    this.#closed ??= reason;
    this.#sender.stop();
    this.#intake.stop();
    for (const call of [...this.#deadlines.calls]) call.cutOff(reason);
    this.#context.cluster.closeLane(this.#connectionLane, reason);
  }
}
