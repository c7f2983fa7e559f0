import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { sleep } from '@nest-event-bus/broker/runtime';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { CommandNote } from '../containers/lifecycle/lifecycle-manager.js';
import { RedriveRefusedException } from '../errors/redrive-errors.js';
import { bindingNameOf, type BindingRef } from '../model/states/binding-ref.js';
import type { DltReplayService, RedriveOperation } from '../redrive/dlt-replay-service.js';
import { requireSamePace } from '../redrive/pacing/same-pace.js';
import {
  checkRunOptions,
  type RedriveRequest,
  type RunOptions,
} from '../redrive/redrive-request.js';
import type { RedriveRun } from '../redrive/running/redrive-run.js';

/** An operation, and why its run in this process has failed. */
export interface AdminOperation extends RedriveOperation {
  readonly failure?: unknown;
}

/** How an operation is run. */
export type OperationPace = Omit<RunOptions, 'signal' | 'by'>;

/** A redrive with how it is run. */
export interface OperationRequest extends Omit<RedriveRequest, 'signal'>, OperationPace {
  /** True to make the plan, and run nothing. Default false. */
  readonly dryRun?: boolean;
}

interface OperationsParts {
  readonly registry: Pick<ContainerRegistry, 'get'>;
  readonly replay: DltReplayService;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

const LOOK_EVERY_MS = 1_000;
/** Failures of this many runs are kept, so that a process that runs for months does not grow. */
const MOST_FAILURES = 100;
const ENDED: ReadonlySet<string> = new Set(['completed', 'cancelled', 'rejected']);

/** Runs redrives in the background of this process, and shows those of all processes. */
export class AdminOperations {
  readonly #runs = new Map<string, { readonly run: RedriveRun; readonly options: RunOptions }>();
  readonly #failures = new Map<string, unknown>();

  constructor(private readonly parts: OperationsParts) {}

  async start(
    ref: BindingRef,
    { dryRun = false, ...given }: OperationRequest,
  ): Promise<AdminOperation> {
    const { request, options } = separated(given);
    const { id } = await this.parts.replay.plan(ref, request);
    const operation = await this.find(ref, id);
    if (dryRun) return operation;
    if (operation.report.state === 'planned') this.#run(ref, id, options);
    else this.#runningAs(ref, id, options);
    return operation;
  }

  async run(
    ref: BindingRef,
    id: string,
    { by, reason: _reason, ...pace }: CommandNote & OperationPace,
  ): Promise<AdminOperation> {
    checkRunOptions(pace);
    const operation = await this.find(ref, id);
    const { state } = operation.report;
    if (state === 'cancelled')
      throw new RedriveRefusedException(
        bindingNameOf(ref),
        'the operation was cancelled. Make a new plan for what is left.',
      );
    if (state === 'rejected')
      throw new RedriveRefusedException(
        bindingNameOf(ref),
        'its canary was bad. Make a new plan for what is left.',
      );
    if (state !== 'completed') this.#run(ref, id, { ...pace, by });
    return operation;
  }

  /** Waits for the end, at most `waitMs`. Throws if the run fails in that time. */
  async replay(ref: BindingRef, given: OperationRequest, waitMs: number): Promise<AdminOperation> {
    const { request, options } = separated(given);
    const { id } = await this.parts.replay.plan(ref, request);
    const run = this.#run(ref, id, options);
    const waiting = new AbortController();
    const timeOut = sleep(this.parts.runtime, waitMs, waiting.signal).catch(() => undefined);
    try {
      await Promise.race([run, timeOut]);
    } finally {
      waiting.abort();
    }
    return this.find(ref, id);
  }

  async find(ref: BindingRef, id: string): Promise<AdminOperation> {
    return this.#withFailure(ref, await this.parts.replay.operation(ref, id));
  }

  async list(ref: BindingRef): Promise<readonly AdminOperation[]> {
    const operations = await this.parts.replay.operations(ref);
    return operations.map((operation) => this.#withFailure(ref, operation));
  }

  async *follow(
    ref: BindingRef,
    id: string,
    signal: AbortSignal,
  ): AsyncGenerator<AdminOperation, void> {
    let shown = '';
    while (!signal.aborted) {
      const operation = await this.find(ref, id);
      const now = JSON.stringify([operation.report, operation.failure !== undefined]);
      if (now !== shown) yield operation;
      shown = now;
      if (ENDED.has(operation.report.state)) return;
      await sleep(this.parts.runtime, LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  }

  async approve(ref: BindingRef, id: string, note: CommandNote): Promise<AdminOperation> {
    await this.parts.replay.approve(ref, id, note);
    return this.find(ref, id);
  }

  async cancel(ref: BindingRef, id: string, { by }: CommandNote): Promise<AdminOperation> {
    await this.parts.replay.cancel(ref, id, { by });
    return this.find(ref, id);
  }

  /** Runs an operation once in this process, however often it is asked for. */
  #run(ref: BindingRef, id: string, options: RunOptions): RedriveRun {
    const running = this.#runningAs(ref, id, options);
    if (running) return running;
    const key = this.#keyOf(ref, id);
    const run = this.parts.replay.run(ref, id, options);
    this.#runs.set(key, { run, options });
    this.#failures.delete(key);
    void run.then(
      () => this.#runs.delete(key),
      (error: unknown) => {
        this.#runs.delete(key);
        this.#keepFailure(key, error);
        this.parts.logger.warn('A redrive has failed in this process. It can be run again', {
          binding: bindingNameOf(ref),
          operation: id,
          reason: errorReasonOf(error),
        });
      },
    );
    return run;
  }

  /** Refuses other options than those with which the operation runs in this process. */
  #runningAs(ref: BindingRef, id: string, options: RunOptions): RedriveRun | undefined {
    const running = this.#runs.get(this.#keyOf(ref, id));
    if (running) requireSamePace(bindingNameOf(ref), running.options, options);
    return running?.run;
  }

  #keepFailure(key: string, error: unknown): void {
    this.#failures.set(key, error);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_FAILURES && oldest !== undefined) this.#failures.delete(oldest);
  }

  #withFailure(ref: BindingRef, operation: RedriveOperation): AdminOperation {
    const failure = this.#failures.get(this.#keyOf(ref, operation.plan.id));
    return failure === undefined ? operation : { ...operation, failure };
  }

  #keyOf(ref: BindingRef, id: string): string {
    const key = this.parts.registry.get(ref)?.key ?? JSON.stringify(ref);
    return `${key}/${id}`;
  }
}

/** Separates what is selected from how it is run. Refuses both before a plan is stored. */
function separated({ brakes, canary, ramp, rate, ...request }: OperationRequest): {
  readonly request: RedriveRequest;
  readonly options: RunOptions;
} {
  const options = { brakes, canary, ramp, rate, by: request.by };
  checkRunOptions(options);
  return { request, options };
}
