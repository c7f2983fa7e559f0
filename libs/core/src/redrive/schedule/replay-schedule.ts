import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { BindingRef } from '../../model/states/binding-ref.js';
import type { DltReplayService } from '../dlt-replay-service.js';

export interface ReplayScheduleParts {
  readonly replay: Pick<DltReplayService, 'replayDue'>;
  readonly runtime: Pick<Runtime, 'setTimer'>;
  readonly logger: DriverLogger;
}

export interface ScheduledBinding {
  readonly ref: BindingRef;
  /** The binding in the log. */
  readonly name: string;
  readonly intervalMs: number;
  /** Returns false if the job was taken from the scheduler. */
  readonly isWanted: () => boolean;
}

/** A job that replays the due letters of a binding again and again. */
export interface ReplayJob {
  /** Begins no other replay. A replay that runs goes on. */
  cancel(): void;
}

/** Replays due letters by a schedule. A scheduler of the application decides for which bindings. */
export class ReplaySchedule {
  #isAttached = false;

  constructor(private readonly parts: ReplayScheduleParts) {}

  /** True if the application has a scheduler for replays. */
  get isAttached(): boolean {
    return this.#isAttached;
  }

  attach(): void {
    this.#isAttached = true;
  }

  /**
   * Replays after each interval. The interval begins when the last replay has ended, so that a job
   * never overlaps itself.
   */
  repeat({ ref, name, intervalMs, isWanted }: ScheduledBinding): ReplayJob {
    const { runtime } = this.parts;
    let timer: Timer | undefined;
    let isCancelled = false;
    const next = (): void => {
      if (isCancelled || !isWanted()) return;
      timer = runtime.setTimer(replay, intervalMs, { background: true });
    };
    const replay = (): void => {
      if (isWanted()) void this.#replayDue(ref, name).finally(next);
    };
    next();
    return {
      cancel: () => {
        isCancelled = true;
        timer?.cancel();
      },
    };
  }

  /** Never rejects: the next interval tries again. */
  async #replayDue(ref: BindingRef, name: string): Promise<void> {
    const { logger, replay } = this.parts;
    try {
      await replay.replayDue(ref, { by: 'schedule' });
    } catch (error) {
      logger.warn('A scheduled replay of dead letters failed. The next interval tries again', {
        binding: name,
        reason: errorReasonOf(error),
      });
    }
  }
}
