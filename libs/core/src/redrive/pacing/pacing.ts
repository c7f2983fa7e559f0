import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { OngoingProblems } from '../../problems/ongoing-problems.js';
import { CONFIRM_EVERY_MS } from './brake-entries.js';
import { brakeOf, type Brake, type BrakeLimits } from './brake.js';
import type { Ramp } from './pacing-options.js';
import type { ReplayRate } from './replay-rate.js';
import type { ReturnedLetters } from './returned-letters.js';

export interface PacingParts {
  readonly binding: string;
  readonly limits: BrakeLimits;
  readonly ramp: Ramp | undefined;
  readonly rate: ReplayRate;
  readonly returned: Pick<ReturnedLetters, 'count' | 'forget' | 'quietForMs' | 'read' | 'total'>;
  /** Returns whether the circuit of the target is open in this process. */
  readonly isCircuitOpen: () => boolean;
  /** Returns the lag of the target's group; undefined if it is not known. */
  readonly lag: () => Promise<number | undefined>;
  readonly onBraked: (brake: Brake) => Promise<void>;
  /** Called now and then while a brake holds the run. */
  readonly onHeld: (brake: Brake, heldForMs: number) => Promise<void>;
  readonly onReleased: (brake: Brake, heldForMs: number) => Promise<void>;
  readonly runtime: Pick<Runtime, 'monotonic' | 'setTimer'>;
  readonly logger: DriverLogger;
}

const LOOK_EVERY_MS = 1_000;
const PROBLEM = 'brakes';

/** Pauses a run when the target is not well, and lets its rate grow while all goes well. */
export class Pacing {
  readonly #problems: OngoingProblems;
  #lookAt = -Infinity;
  #looking: Promise<void> | undefined;
  #held:
    { readonly brake: Brake; readonly since: number; readonly confirmedAt: number } | undefined;
  #lag: number | undefined;
  /** The beginning of the present step of the ramp, and the letters that had returned by then. */
  #step: { readonly since: number; readonly returned: number };

  constructor(private readonly parts: PacingParts) {
    const { logger, runtime } = parts;
    this.#problems = new OngoingProblems(runtime, logger);
    this.#step = { since: runtime.monotonic(), returned: 0 };
    this.#beginRamp();
  }

  /** Returns the brake that holds the run now. Looks at most once a second. */
  async brake(): Promise<Brake | undefined> {
    const { isCircuitOpen, limits, runtime } = this.parts;
    const isDue = runtime.monotonic() >= this.#lookAt || (limits.circuit && isCircuitOpen());
    if (isDue) await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
    return this.#held?.brake;
  }

  /** Takes back what was told about the brakes, because the run ends. */
  async close(): Promise<void> {
    this.#problems.end(PROBLEM);
    await this.#change(undefined);
  }

  async #look(): Promise<void> {
    const { isCircuitOpen, limits, returned, runtime } = this.parts;
    this.#lookAt = runtime.monotonic() + LOOK_EVERY_MS;
    await this.#read();
    const readings = {
      isCircuitOpen: isCircuitOpen(),
      returned: returned.count,
      quietForMs: returned.quietForMs,
      lag: this.#lag,
    };
    const brake = brakeOf(limits, readings, this.#held?.brake);
    if (brake?.reason !== this.#held?.brake.reason) await this.#change(brake);
    else await this.#confirm();
    if (!brake) this.#growRate();
  }

  /** A reading that fails leaves the last one, and is told. */
  async #read(): Promise<void> {
    const { binding, lag, limits, ramp, returned } = this.parts;
    try {
      if (limits.returned !== undefined || ramp) await returned.read();
      if (limits.lag !== undefined) this.#lag = await lag();
      this.#problems.end(PROBLEM);
    } catch (error) {
      this.#problems.report({
        key: PROBLEM,
        message: `A redrive of binding '${binding}' cannot read what its brakes look at. It goes on with the last figures`,
        ended: `A redrive of binding '${binding}' can read again what its brakes look at`,
        context: { binding, reason: errorReasonOf(error) },
      });
    }
  }

  /** Shows other processes that this one is alive, and still paused. */
  async #confirm(): Promise<void> {
    const { onHeld, runtime } = this.parts;
    const held = this.#held;
    const now = runtime.monotonic();
    if (!held || now - held.confirmedAt < CONFIRM_EVERY_MS) return;
    this.#held = { ...held, confirmedAt: now };
    await onHeld(held.brake, now - held.since);
  }

  async #change(brake: Brake | undefined): Promise<void> {
    const { onBraked, onReleased, returned, runtime } = this.parts;
    const held = this.#held;
    const now = runtime.monotonic();
    this.#held = brake && { brake, since: now, confirmedAt: now };
    this.#beginRamp();
    if (held?.brake.reason === 'letters-returned') returned.forget();
    if (held) await onReleased(held.brake, now - held.since);
    if (brake) await onBraked(brake);
  }

  #beginRamp(): void {
    const { ramp, rate, returned, runtime } = this.parts;
    this.#step = { since: runtime.monotonic(), returned: returned.total };
    if (ramp) rate.set(ramp.from);
  }

  #growRate(): void {
    const { ramp, rate, returned, runtime } = this.parts;
    const now = runtime.monotonic();
    if (!ramp || now - this.#step.since < ramp.everyMs) return;
    const isWell = returned.total === this.#step.returned;
    this.#step = { since: now, returned: returned.total };
    if (isWell) rate.set(Math.min(ramp.to, (rate.perSecond ?? ramp.from) * 2));
  }
}
