import { UnsupportedError } from '../../../port/errors.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  consumerHeartbeatRequest,
  JOINING_EPOCH,
  reactionTo,
  type ConsumerClaim,
  type ConsumerHeartbeatAnswer,
} from '../../../wire/index.js';
import { underEither } from '../either-signal.js';
import { groupError, type GroupSettings } from '../group-advice.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { Loss } from '../classic/classic-heartbeat.js';
import { paceAfter } from '../retry-urgency.js';

export interface PulseOptions {
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings;
  readonly memberId: string;
  readonly claim: () => ConsumerClaim;
  /** A third of the session: time enough for another try before it is over. */
  readonly timeoutMs: () => number;
  readonly onAnswer: (answer: ConsumerHeartbeatAnswer, sentAt: number) => void;
  readonly onTrouble: (error: Error) => void;
}

/** Until the broker has told its interval. */
const FIRST_INTERVAL_MS = 5_000;
const RETRY_AFTER_MS = 100;
const SLOW_RETRY = { initialMs: 3_000, maxMs: 10_000 };

/** After the group has gone on: more is to come soon, as others hand back. */
const BRISK_MS = 500;
const BRISK_BEATS = 10;

/**
 * The heartbeats of one membership, one at a time. Each says everything and is answered with
 * everything, so that a lost one changes nothing: the next is as good.
 */
export class Pulse {
  epoch = JOINING_EPOCH;
  readonly #options: PulseOptions;
  readonly #slow: Backoff;
  #soon: Backoff;
  #intervalMs = FIRST_INTERVAL_MS;
  #brisk = 0;
  #alarm = new AbortController();

  constructor(options: PulseOptions) {
    this.#options = options;
    this.#slow = new Backoff(options.coordinator.runtime, SLOW_RETRY);
    this.#soon = this.#backoff();
  }

  /** The next one goes out at once. */
  wake(): void {
    this.#alarm.abort();
  }

  /** Until the membership has ended. Rejects when the signal aborts. */
  async run(signal: AbortSignal): Promise<Loss> {
    for (;;) {
      this.#alarm = new AbortController();
      const end = await this.#beat(signal);
      if (typeof end !== 'number') return end;
      await this.#rest(end, signal);
    }
  }

  /** Gives the time until the next one, or what has become of us. */
  async #beat(signal: AbortSignal): Promise<number | Loss> {
    const { coordinator, settings, memberId, claim, timeoutMs, onTrouble } = this.#options;
    const { runtime, lane } = coordinator;
    const sentAt = runtime.monotonic();
    try {
      const member = { ...settings, memberId };
      const request = consumerHeartbeatRequest(member, this.epoch, claim());
      const { node, answer } = await coordinator.request(lane, request, {
        timeoutMs: timeoutMs(),
        signal,
      });
      if (answer.errorCode !== 0) return this.#refused(answer, node);
      return this.#answered(answer, sentAt);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UnsupportedError) return lost('fall-back', error);
      const pace = paceAfter(error);
      if (pace === 'never') return lost('fail', error as Error);
      onTrouble(error as Error);
      return (pace === 'slowly' ? this.#slow : this.#soon).next();
    }
  }

  #answered(answer: ConsumerHeartbeatAnswer, sentAt: number): number {
    const { epoch, intervalMs } = answer;
    if (epoch !== this.epoch) this.#brisk = BRISK_BEATS;
    this.epoch = epoch;
    this.#intervalMs = intervalMs;
    this.#soon = this.#backoff();
    this.#slow.reset();
    this.#options.onAnswer(answer, sentAt);
    const wantedMs = this.#brisk-- > 0 ? Math.min(BRISK_MS, intervalMs) : intervalMs;
    const { runtime } = this.#options.coordinator;
    return Math.max(sentAt + wantedMs - runtime.monotonic(), wantedMs / 2);
  }

  #refused({ errorCode, message }: ConsumerHeartbeatAnswer, node: number): number | Loss {
    const { coordinator, settings, onTrouble } = this.#options;
    const place = this.epoch === JOINING_EPOCH ? 'consumerJoin' : 'consumerHeartbeat';
    const said = message ? ` (the broker: ${message})` : '';
    const error = groupError(errorCode, `the heartbeat was not accepted${said}`, settings);
    switch (reactionTo(place, errorCode)) {
      case 'lost':
        return lost('rejoin', error);
      case 'lost-rejoin-as-new':
        return lost('rejoin-as-new', error);
      case 'fall-back':
        return lost('fall-back', error);
      case 'find-coordinator':
        coordinator.forget(node);
        onTrouble(error);
        return this.#soon.next();
      case 'slow-retry':
        onTrouble(error);
        return this.#slow.next();
      case 'retry':
        onTrouble(error);
        return this.#soon.next();
      default:
        return lost('fail', error);
    }
  }

  async #rest(delayMs: number, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#options.coordinator;
    await underEither(signal, this.#alarm.signal, (until) =>
      sleep(runtime, delayMs, until).catch(() => signal.throwIfAborted()),
    );
  }

  #backoff(): Backoff {
    const maxMs = Math.max(RETRY_AFTER_MS, Math.min(this.#intervalMs, 2_000));
    return new Backoff(this.#options.coordinator.runtime, { initialMs: RETRY_AFTER_MS, maxMs });
  }
}

function lost(next: Loss['next'], error: Error): Loss {
  return { kind: 'lost', next, error };
}
