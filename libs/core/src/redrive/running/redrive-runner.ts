import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import { Backoff, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { RedriveEndState } from '../../model/events/redrive-events.js';
import { canaryFigures, canaryWaitedMs } from '../canary/canary-report.js';
import { triedIn } from '../canary/canary-quotas.js';
import { verdictOf } from '../canary/canary-verdict.js';
import type { CanaryEntry } from '../ledger/ledger-entry.js';
import type { OperationLog } from '../ledger/operation-log.js';
import type { StoredOperation } from '../ledger/operation-state.js';
import type { OperationWatch } from '../ledger/operation-watch.js';
import type { Pacing } from '../pacing/pacing.js';
import type { RedriveNews } from './redrive-news.js';
import { canHeal } from './can-heal.js';
import { nextStepOf, type RedriveStep } from './next-step.js';
import { PartitionReplay, type PartitionReplayParts } from './partition-replay.js';
import { runReport, type RedriveReport, type RedriveState } from './redrive-report.js';

export interface RedriveRunnerParts {
  readonly operation: StoredOperation;
  readonly watch: OperationWatch;
  readonly operations: OperationLog;
  readonly pacing: Pacing;
  readonly news: RedriveNews;
  readonly replay: Omit<
    PartitionReplayParts,
    'planned' | 'signal' | 'quota' | 'mayReplay' | 'onProgress'
  >;
  readonly onProgress: (report: RedriveReport) => void;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly signal: AbortSignal;
}

/** The last report of a run, and why it ended. */
export interface RunEnd {
  readonly report: RedriveReport;
  readonly state: RedriveEndState;
}

const LOOK_EVERY_MS = 1_000;
const RETRY = { initialMs: 200, maxMs: 10_000 };

/**
 * Runs an operation step by step: the canary, the wait for its verdict and approval, and the rest.
 * Every decision is in the ledger, so that any node can take the next step.
 */
export class RedriveRunner {
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(private readonly parts: RedriveRunnerParts) {}

  async run(): Promise<RunEnd> {
    const { runtime, signal } = this.parts;
    const backoff = new Backoff(runtime, RETRY);
    while (!signal.aborted) {
      try {
        const step = await this.#nextStep();
        if (step.kind === 'end') return this.#end(step.state);
        await this.#take(step);
        backoff.reset();
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, backoff);
      }
    }
    return this.#end('stopped');
  }

  /** An operation that is done here is done, so what others have written need not be read. */
  async #nextStep(): Promise<RedriveStep> {
    const { operation, watch } = this.parts;
    const known = nextStepOf(operation);
    if (known.kind === 'end') return known;
    await watch.readAll();
    return nextStepOf(operation);
  }

  #end(state: RedriveEndState): RunEnd {
    return { report: this.#report(state), state };
  }

  #report(state: RedriveState): RedriveReport {
    const { operation, runtime } = this.parts;
    return runReport(operation, state, runtime.now());
  }

  async #recover(error: unknown, backoff: Backoff): Promise<void> {
    const { logger, operation, runtime, signal } = this.parts;
    if (!canHeal(error)) throw error;
    logger.warn('A step of a redrive failed, and is repeated', {
      ...{ binding: operation.plan.binding, operation: operation.id },
      reason: errorReasonOf(error),
    });
    await sleep(runtime, backoff.next(), signal).catch(() => undefined);
  }

  async #take(step: Exclude<RedriveStep, { kind: 'end' }>): Promise<void> {
    switch (step.kind) {
      case 'replay':
        return (await this.parts.pacing.brake()) ? this.#wait('braked') : this.#replay(step.quotas);
      case 'await-outcomes':
        return (await this.#decide(step.canary)) ? undefined : this.#wait('awaiting-outcomes');
      case 'await-approval':
        return this.#wait('awaiting-approval');
    }
  }

  /** Waits until something may have changed, in the ledger or in the target. */
  async #wait(state: RedriveState): Promise<void> {
    const { onProgress, runtime, signal } = this.parts;
    onProgress(this.#report(state));
    await sleep(runtime, LOOK_EVERY_MS, signal).catch(() => undefined);
  }

  /** Writes the verdict about the canary. Returns whether there is one. */
  async #decide(canary: CanaryEntry): Promise<boolean> {
    const { news, operation, operations, runtime } = this.parts;
    const figures = canaryFigures(operation);
    const at = runtime.now();
    const decided = verdictOf(figures, canary, canaryWaitedMs(operation, at));
    if (!decided) return false;
    const verdict = { ...decided, ...figures, node: runtime.hostname(), at };
    await operations.saveVerdict(operation.id, verdict);
    news.decided(verdict);
    return true;
  }

  /** Replays all partitions together. If one fails, the others stop after their batches in flight. */
  async #replay(quotas: ReadonlyMap<number, number> | undefined): Promise<void> {
    const { operation, signal } = this.parts;
    const ending = new AbortController();
    const stopping = AbortSignal.any([signal, ending.signal]);
    const replay = async (planned: PartitionReplayParts['planned']): Promise<void> => {
      try {
        await this.#replayPartition(planned, quotas, stopping);
      } catch (error) {
        ending.abort(error);
        throw error;
      }
    };
    const replaying = operation.plan.partitions.filter(({ partition, selected }) => {
      const known = operation.progress.get(partition);
      const isFull = triedIn(known) >= (quotas?.get(partition) ?? Infinity);
      return selected > 0 && !known?.isDone && !isFull;
    });
    const results = await Promise.allSettled(replaying.map(replay));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async #replayPartition(
    planned: PartitionReplayParts['planned'],
    quotas: ReadonlyMap<number, number> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { onProgress, operation, replay } = this.parts;
    const quota = quotas ? (quotas.get(planned.partition) ?? 0) : Infinity;
    const partition = new PartitionReplay({
      ...replay,
      ...{ planned, quota, signal },
      mayReplay: () => this.#mayReplay(quotas !== undefined),
      onProgress: (entry) => {
        operation.advance(planned.partition, entry);
        onProgress(this.#report('running'));
      },
    });
    await partition.run();
  }

  /** Returns whether the next batch of the same step may be written. */
  async #mayReplay(isCanary: boolean): Promise<boolean> {
    const { operation, pacing, runtime, watch } = this.parts;
    if (runtime.monotonic() >= this.#readAt)
      await (this.#reading ??= watch.readCommands().finally(() => {
        this.#readAt = runtime.monotonic() + LOOK_EVERY_MS;
        this.#reading = undefined;
      }));
    const step = nextStepOf(operation);
    if (step.kind !== 'replay' || (step.quotas !== undefined) !== isCanary) return false;
    return (await pacing.brake()) === undefined;
  }
}
