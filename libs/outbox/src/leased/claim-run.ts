import type { CallGuard, ListenerInvoker } from '../dispatch/listener-invoker.js';
import { errorName, errorText } from '../errors/describe-error.js';
import { UnroutableEventException } from '../errors/unroutable-event-exception.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import type { ClaimedEvent } from '../model/outbox-event.js';
import { decodeEvent } from '../poller/decode-event.js';
import { logSevere } from '../spi/logger.js';
import { withConnection } from '../spi/sql-connection.js';
import { type BatchEventListener, isBatchListener } from './batch-listener.js';
import type { Completer } from './completer.js';
import type { Lease } from './lease.js';
import { LeaseEndedError } from './lease-ended-error.js';
import type { LeasedRelayOptions } from './leased-options.js';
import type { OutagePause } from './outage-pause.js';

interface Work {
  readonly row: ClaimedEvent;
  readonly envelope: EventEnvelope;
}

/** Events of one key in their order, or one event without a key. */
interface Chain {
  readonly works: Work[];
  /** An event of the chain is DEAD and blocks its key: the later ones are not started. */
  isBlocked: boolean;
}

/** Dispatches the events of one claim. Events of one key form a chain and keep their order. */
export class ClaimRun {
  readonly #guard: CallGuard = {
    context: leaseOf(() => this.lease.leftMs),
    check: () => {
      if (!this.lease.allowsStart) throw new LeaseEndedError();
    },
  };

  constructor(
    private readonly options: LeasedRelayOptions,
    private readonly invoker: ListenerInvoker,
    private readonly lease: Lease,
    private readonly completer: Completer,
    private readonly pause: OutagePause,
    private readonly isOpen: () => boolean,
  ) {}

  async run(rows: readonly ClaimedEvent[]): Promise<void> {
    const { batches, singles } = this.#groupChains(this.#chainsOf(rows));
    const queue = singles[Symbol.iterator]();
    const worker = async (): Promise<void> => {
      for (const chain of queue) await this.#runChain(chain);
    };
    const workers = Array.from(
      { length: Math.min(this.options.concurrency, singles.length) },
      worker,
    );
    await Promise.all([
      ...workers,
      ...[...batches].map(([listener, chains]) => this.#runBatch(listener, chains)),
    ]);
    await this.completer.flush();
  }

  /** Says whether another event may be started now. */
  get #mayStart(): boolean {
    return this.isOpen() && this.pause.leftMs === 0 && this.lease.allowsStart;
  }

  #chainsOf(rows: readonly ClaimedEvent[]): readonly Chain[] {
    const chains = new Map<string, Chain>();
    for (const row of rows) {
      const { aggregateType, aggregateId, eventId } = row;
      const hasKey = this.options.order === 'key' && aggregateId !== null;
      const name = JSON.stringify(hasKey ? [aggregateType, aggregateId] : eventId);
      const chain = chains.get(name) ?? { works: [], isBlocked: false };
      chains.set(name, chain);
      if (chain.isBlocked) this.#release(row);
      else this.#extend(chain, row);
    }
    return [...chains.values()].filter(({ works }) => works.length > 0);
  }

  #extend(chain: Chain, row: ClaimedEvent): void {
    const envelope = this.#decode(row);
    if (envelope) chain.works.push({ row, envelope });
    else chain.isBlocked = this.options.deadKey === 'block';
  }

  /** Chains of one batch listener are handled in one call, unless an event may kill the process. */
  #groupChains(chains: readonly Chain[]): {
    batches: ReadonlyMap<BatchEventListener, Chain[]>;
    singles: readonly Chain[];
  } {
    const batches = new Map<BatchEventListener, Chain[]>();
    const singles: Chain[] = [];
    for (const chain of chains) {
      const listener = this.#batchListenerOf(chain);
      if (listener) batches.set(listener, [...(batches.get(listener) ?? []), chain]);
      else singles.push(chain);
    }
    return { batches, singles };
  }

  #batchListenerOf({ works }: Chain): BatchEventListener | undefined {
    const listeners = works.map(({ envelope: { aggregateType, eventType } }) =>
      this.options.listenerRegistry.listenerFor(aggregateType, eventType),
    );
    const [first] = listeners;
    const isOneBatch =
      first &&
      isBatchListener(first) &&
      listeners.every((listener) => listener === first) &&
      works.every(({ row }) => row.unfinishedAttempts === 0);
    return isOneBatch ? first : undefined;
  }

  async #runBatch(listener: BatchEventListener, chains: readonly Chain[]): Promise<void> {
    const works = chains.flatMap((chain) => chain.works);
    if (!this.#mayStart) return works.forEach(({ row }) => this.#release(row));
    const results = await this.invoker.invokeBatch(
      listener,
      works.map(({ envelope }) => envelope),
      this.#guard,
    );
    const errors = new Map(works.map((work, index) => [work, results[index] ?? null]));
    for (const chain of chains) this.#endBatchChain(chain, errors);
  }

  /** An event that failed because an earlier one of its key has failed was no attempt. */
  #endBatchChain({ works }: Chain, errors: ReadonlyMap<Work, Error | null>): void {
    let isHeldBack = false;
    for (const work of works) {
      const error = errors.get(work) ?? null;
      if (isHeldBack && error) this.#release(work.row);
      else isHeldBack = this.#end(work, error) === 'held back' || isHeldBack;
    }
  }

  async #runChain({ works }: Chain): Promise<void> {
    let isHeldBack = false;
    for (const work of works)
      if (isHeldBack || !this.#mayStart) {
        isHeldBack = true;
        this.#release(work.row);
      } else {
        isHeldBack = (await this.#start(work)) === 'held back';
      }
  }

  /** `held back`: the later events of the chain must wait. */
  async #start(work: Work): Promise<'go on' | 'held back'> {
    const { row, envelope } = work;
    if (row.unfinishedAttempts > 0 && !(await this.#startSuspect(work))) return 'held back';
    return this.#end(work, await this.invoker.invoke(envelope, this.#guard));
  }

  /** Counts the attempt before it begins, in case that it kills the process. */
  async #startSuspect({ row }: Work): Promise<boolean> {
    const { connectionProvider, outboxStore, logger } = this.options;
    try {
      const held = await withConnection(connectionProvider, (connection) =>
        outboxStore.markStarted(connection, this.lease.token, row.eventId),
      );
      return held > 0;
    } catch (error) {
      logger.warn(
        `Event ${row.eventId} was not started, because the database failed: ${errorName(error)}. It is leased again after its lease.`,
      );
      return false;
    }
  }

  #end({ envelope, row }: Work, error: Error | null): 'go on' | 'held back' {
    const { eventId } = row;
    if (!error) {
      this.pause.end();
      this.completer.add({ kind: 'done', eventId });
      return 'go on';
    }
    if (error instanceof LeaseEndedError) {
      this.#release(row);
      return 'held back';
    }
    if (this.options.faultClassifier.classify(error) === 'outage') {
      this.pause.begin(error);
      this.completer.add({ kind: 'released', eventId, delayMs: 0, unfinishedAttempts: 0 });
      return 'held back';
    }
    return this.#fail(row, envelope, error);
  }

  #fail(row: ClaimedEvent, { eventType }: EventEnvelope, error: Error): 'go on' | 'held back' {
    const { maxAttempts, retryPolicy, unroutable, logger } = this.options;
    const { eventId } = row;
    const attempts = row.attempts + 1;
    const isHopeless = error instanceof UnroutableEventException && unroutable === 'dead';
    if (attempts < maxAttempts && !isHopeless) {
      const delayMs = retryPolicy.computeDelayMs(attempts);
      this.completer.add({ kind: 'retry', eventId, delayMs, error: errorText(error) });
      return 'held back';
    }
    logger.error(
      `Event ${eventId} of type ${eventType} is DEAD after ${attempts} attempts: ${errorName(error)}. Replay it, or unblock or skip its key, when the cause is gone.`,
    );
    return this.#die(row, errorText(error));
  }

  #die({ eventId }: ClaimedEvent, error: string): 'go on' | 'held back' {
    const blocksKey = this.options.deadKey === 'block';
    this.completer.add({ kind: 'dead', eventId, error, blocksKey });
    return blocksKey ? 'held back' : 'go on';
  }

  #release({ eventId, unfinishedAttempts }: ClaimedEvent): void {
    this.completer.add({ kind: 'released', eventId, delayMs: 0, unfinishedAttempts });
  }

  /** Returns nothing for an event that became DEAD without a dispatch. */
  #decode(row: ClaimedEvent): EventEnvelope | undefined {
    const { jsonCodec, logger, maxUnfinishedAttempts } = this.options;
    if (row.unfinishedAttempts >= maxUnfinishedAttempts) {
      logger.error(
        `Event ${row.eventId} is DEAD: ${row.unfinishedAttempts} attempts were started and never ended. Its listener may kill or block the process.`,
      );
      this.#die(row, `${row.unfinishedAttempts} attempts were started and never ended`);
      return undefined;
    }
    try {
      return decodeEvent(row, jsonCodec);
    } catch (error) {
      logSevere(
        logger,
        `SEVERE: event ${row.eventId} cannot be decoded and is DEAD: ${errorName(error)}. Correct its row, then replay it.`,
      );
      this.#die(row, errorText(error));
      return undefined;
    }
  }
}

/** Its time is read when a listener needs it, which may be later than the call. */
const leaseOf = (leftMs: () => number): CallGuard['context'] => ({
  get leaseLeftMs() {
    return leftMs();
  },
});
