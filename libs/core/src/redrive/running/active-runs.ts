import { EventBusShuttingDownException } from '../../errors/container-errors.js';
import { bindingNameOf, type BindingRef } from '../../model/states/binding-ref.js';
import { requireSamePace } from '../pacing/same-pace.js';
import type { RunOptions } from '../redrive-request.js';
import { RedriveRun, type RedriveWork } from './redrive-run.js';

/** What a run is about, to recognise a second one. */
export interface RunOf {
  readonly ref: BindingRef;
  /** Undefined while the plan has no id. */
  readonly planId: string | undefined;
  readonly options: RunOptions;
}

/** The runs of this process. After `close` there is no other. */
export class ActiveRuns {
  readonly #runs = new Map<RedriveRun, RunOf>();
  #isClosed = false;

  /** Throws once `close` was called. `operation` completes the sentence "Cannot ...". */
  requireOpen(operation: string): void {
    if (this.#isClosed) throw new EventBusShuttingDownException(operation);
  }

  /** Refuses a run with other options than those with which the operation runs here. */
  start(work: RedriveWork, of: RunOf): RedriveRun {
    this.requireOpen('redrive dead letters');
    const { ref, planId, options } = of;
    if (planId !== undefined)
      for (const active of this.#runs.values())
        if (active.planId === planId && isSameRef(active.ref, ref))
          requireSamePace(bindingNameOf(ref), active.options, options);
    const run = new RedriveRun(work, options.signal);
    this.#runs.set(run, of);
    const forget = (): void => void this.#runs.delete(run);
    void run.then(forget, forget);
    return run;
  }

  /** Stops all runs, and waits for their batches in flight. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const runs = [...this.#runs.keys()];
    for (const run of runs) run.stop();
    await Promise.allSettled(runs);
  }
}

const isSameRef = (one: BindingRef, other: BindingRef): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
