import type { BrokerError } from '../../../port/errors.js';
import { RequestTimeoutError } from '../../../port/errors.js';
import { Backoff, type Runtime, type Timer } from '../../../runtime/index.js';
import { heartbeatRequest, reactionTo } from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-advice.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { MemberSnapshot } from '../membership.js';

/** The membership has ended without our doing. */
export interface Loss {
  readonly kind: 'lost';
  /** What to do next: join with the member id we have, as a new member, by the classic protocol, or nothing. */
  readonly next: 'rejoin' | 'rejoin-as-new' | 'fall-back' | 'fail';
  readonly error: Error;
}

export interface HeartOptions {
  readonly runtime: Runtime;
  readonly coordinator: GroupCoordinator;
  readonly snapshot: MemberSnapshot;
  readonly settings: GroupSettings;
  readonly heartbeatIntervalMs: number;
  /** How many heartbeats to begin with go at a quick pace: a second round is near. */
  readonly briskBeats: number;
  /** Whether a join is under way: then its answer tells what has become of us, not a heartbeat's. */
  readonly isJoining: () => boolean;
  readonly onAlive: () => void;
  readonly onTrouble: (error: Error) => void;
  readonly onRebalance: () => void;
  readonly onLoss: (loss: Loss) => void;
}

/** The first try after one that failed; from there it backs off, up to the interval. */
const RETRY_AFTER_MS = 100;

const BRISK_MS = 500;

/**
 * The heartbeats of one generation, on a timer of their own: neither a long handler nor an awaited
 * revocation stops them. It holds the lease too: a session time-out without an answer means that
 * the group has given our partitions to others, whether or not we can hear it say so.
 */
export class Heart {
  readonly #options: HeartOptions;
  readonly #backoff: Backoff;
  #beat: Timer | undefined;
  #lease: Timer | undefined;
  #stableAt: number;
  #brisk: number;
  #stopped = false;

  constructor(options: HeartOptions) {
    this.#options = options;
    this.#stableAt = options.runtime.monotonic();
    this.#brisk = options.briskBeats;
    this.#backoff = new Backoff(options.runtime, {
      initialMs: Math.min(RETRY_AFTER_MS, options.heartbeatIntervalMs),
      maxMs: options.heartbeatIntervalMs,
    });
  }

  /** When the group was known to be at rest: a rebalance that we hear of began after it. */
  get stableAt(): number {
    return this.#stableAt;
  }

  start(): void {
    this.#renewLease(this.#stableAt);
    this.#schedule(this.#interval());
  }

  stop(): void {
    this.#stopped = true;
    this.#beat?.cancel();
    this.#lease?.cancel();
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#beat = this.#options.runtime.setTimer(() => void this.#ask(), delayMs);
  }

  async #ask(): Promise<void> {
    const { runtime, coordinator, snapshot, settings, onTrouble } = this.#options;
    const sentAt = runtime.monotonic();
    try {
      // A third of the session: time enough for another try before the lease ends.
      const { node, answer } = await coordinator.request(
        coordinator.lane,
        heartbeatRequest(snapshot),
        {
          timeoutMs: Math.ceil(settings.sessionTimeoutMs / 3),
        },
      );
      if (!this.#stopped) this.#schedule(this.#react(answer.errorCode, node, sentAt));
    } catch (error) {
      if (this.#stopped) return;
      onTrouble(error as Error);
      this.#schedule(this.#backoff.next());
    }
  }

  /** Gives the time to the next heartbeat. */
  #react(code: number, node: number, sentAt: number): number {
    const { coordinator, onAlive, onRebalance, onTrouble } = this.#options;
    switch (reactionTo('heartbeat', code)) {
      case 'done':
        this.#stableAt = sentAt;
        onAlive();
        return this.#answered(sentAt);
      case 'revoke':
        onRebalance();
        return this.#answered(sentAt);
      case 'lost':
        if (this.#options.isJoining()) return this.#interval();
        return this.#lose('rejoin', this.#error(code));
      case 'lost-rejoin-as-new':
        return this.#lose('rejoin-as-new', this.#error(code));
      case 'find-coordinator':
        coordinator.forget(node);
        onTrouble(this.#error(code));
        return this.#backoff.next();
      case 'retry':
      case 'slow-retry':
        onTrouble(this.#error(code));
        return this.#backoff.next();
      default:
        return this.#lose('fail', this.#error(code));
    }
  }

  #answered(sentAt: number): number {
    const intervalMs = this.#interval();
    this.#backoff.reset();
    this.#renewLease(sentAt);
    return Math.max(sentAt + intervalMs - this.#options.runtime.monotonic(), intervalMs / 2);
  }

  #interval(): number {
    const { heartbeatIntervalMs } = this.#options;
    return this.#brisk-- > 0 ? Math.min(BRISK_MS, heartbeatIntervalMs) : heartbeatIntervalMs;
  }

  /** The broker counts from when it got the heartbeat, which is after we sent it. */
  #renewLease(sentAt: number): void {
    const { runtime, settings } = this.#options;
    const { groupId, sessionTimeoutMs } = settings;
    this.#lease?.cancel();
    const delayMs = sentAt + sessionTimeoutMs - runtime.monotonic();
    this.#lease = runtime.setTimer(() => {
      const error = new RequestTimeoutError(
        `Group "${groupId}": no heartbeat was answered for ${sessionTimeoutMs} ms (sessionTimeoutMs), so the group counts this member out.`,
      );
      this.#lose('rejoin', error);
    }, delayMs);
  }

  #lose(next: Loss['next'], error: Error): number {
    this.stop();
    this.#options.onLoss({ kind: 'lost', next, error });
    return 0;
  }

  #error(code: number): BrokerError {
    return groupError(code, 'the heartbeat was not accepted', this.#options.settings);
  }
}
