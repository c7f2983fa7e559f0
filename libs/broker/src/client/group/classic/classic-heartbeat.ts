import type { BrokerError } from '../../../port/errors.js';
import { RequestTimeoutError } from '../../../port/errors.js';
import { Backoff, type Runtime, type Timer } from '../../../runtime/index.js';
import { heartbeatRequest, reactionTo } from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { MemberSnapshot, MembershipLoss } from '../membership.js';

export interface ClassicHeartbeatOptions {
  readonly runtime: Runtime;
  readonly coordinator: GroupCoordinator;
  readonly snapshot: MemberSnapshot;
  readonly settings: GroupSettings;
  readonly heartbeatIntervalMs: number;
  /**
   * The number of first heartbeats that are sent at a short interval, because a second rebalance is
   * likely to follow.
   */
  readonly fastHeartbeats: number;
  /**
   * Returns whether a join is under way. In that case the response to the join decides about the
   * membership, and not the response to a heartbeat.
   */
  readonly isJoining: () => boolean;
  /**
   * Time at which the last request of the join was sent. If the answer took longer than the
   * session timeout, the lease has ended already, and the first heartbeat is sent at once.
   */
  readonly joinSentAt: number;
  /** Called when the group has confirmed the membership, which may also be a rebalance. */
  readonly onAnswer: (sentAt: number) => void;
  readonly onAlive: () => void;
  readonly onError: (error: Error) => void;
  readonly onRebalance: () => void;
  readonly onLoss: (loss: MembershipLoss) => void;
}

/**
 * The delay of the first retry after a failed heartbeat. Later delays increase up to the heartbeat
 * interval.
 */
const RETRY_AFTER_MS = 100;

const FAST_INTERVAL_MS = 500;

/**
 * Sends the heartbeats of one generation on their own timer, so that neither a long handler nor a
 * running revocation stops them. Also measures the session timeout: if no heartbeat is answered
 * within it, the group has given the partitions to other members, and this member loses them.
 */
export class ClassicHeartbeat {
  readonly #options: ClassicHeartbeatOptions;
  readonly #backoff: Backoff;
  #timer: Timer | undefined;
  #sessionDeadline: Timer | undefined;
  #stableAt: number;
  #fastHeartbeatsLeft: number;
  #stopped = false;

  constructor(options: ClassicHeartbeatOptions) {
    this.#options = options;
    this.#stableAt = options.runtime.monotonic();
    this.#fastHeartbeatsLeft = options.fastHeartbeats;
    this.#backoff = new Backoff(options.runtime, {
      initialMs: Math.min(RETRY_AFTER_MS, options.heartbeatIntervalMs),
      maxMs: options.heartbeatIntervalMs,
    });
  }

  /**
   * The time at which the group was last known to be stable. A rebalance that is reported later has
   * begun after this time.
   */
  get stableAt(): number {
    return this.#stableAt;
  }

  start(): void {
    this.#extendSession(this.#stableAt);
    const { joinSentAt, settings } = this.#options;
    const isLeaseOver = this.#stableAt - joinSentAt >= settings.sessionTimeoutMs;
    this.#schedule(isLeaseOver ? 0 : this.#nextIntervalMs());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#sessionDeadline?.cancel();
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = this.#options.runtime.setTimer(() => void this.#send(), delayMs);
  }

  async #send(): Promise<void> {
    const { runtime, coordinator, snapshot, settings, onError } = this.#options;
    const sentAt = runtime.monotonic();
    try {
      // A third of the session timeout leaves time for another attempt before the session expires.
      const { node, answer } = await coordinator.request(
        coordinator.channel,
        heartbeatRequest(snapshot),
        {
          timeoutMs: Math.ceil(settings.sessionTimeoutMs / 3),
        },
      );
      if (!this.#stopped) this.#schedule(this.#handleAnswer(answer.errorCode, node, sentAt));
    } catch (error) {
      if (this.#stopped) return;
      onError(error as Error);
      this.#schedule(this.#backoff.next());
    }
  }

  /** Returns the delay until the next heartbeat. */
  #handleAnswer(code: number, node: number, sentAt: number): number {
    const { coordinator, onAlive, onRebalance, onError } = this.#options;
    switch (reactionTo('heartbeat', code)) {
      case 'done':
        this.#stableAt = sentAt;
        onAlive();
        return this.#onAnswered(sentAt);
      case 'revoke':
        onRebalance();
        return this.#onAnswered(sentAt);
      case 'lost':
        if (this.#options.isJoining()) return this.#nextIntervalMs();
        return this.#reportLoss('rejoin', this.#error(code));
      case 'lost-rejoin-as-new':
        return this.#reportLoss('rejoin-as-new', this.#error(code));
      case 'find-coordinator':
        coordinator.forget(node);
        onError(this.#error(code));
        return this.#backoff.next();
      case 'retry':
      case 'slow-retry':
        onError(this.#error(code));
        return this.#backoff.next();
      default:
        return this.#reportLoss('fail', this.#error(code));
    }
  }

  #onAnswered(sentAt: number): number {
    const intervalMs = this.#nextIntervalMs();
    this.#backoff.reset();
    this.#options.onAnswer(sentAt);
    this.#extendSession(sentAt);
    return Math.max(sentAt + intervalMs - this.#options.runtime.monotonic(), intervalMs / 2);
  }

  #nextIntervalMs(): number {
    const { heartbeatIntervalMs } = this.#options;
    return this.#fastHeartbeatsLeft-- > 0
      ? Math.min(FAST_INTERVAL_MS, heartbeatIntervalMs)
      : heartbeatIntervalMs;
  }

  /**
   * Extends the session from the time at which the heartbeat was sent. The broker counts from its
   * arrival, which is later.
   */
  #extendSession(sentAt: number): void {
    const { runtime, settings } = this.#options;
    const { groupId, sessionTimeoutMs } = settings;
    this.#sessionDeadline?.cancel();
    const delayMs = sentAt + sessionTimeoutMs - runtime.monotonic();
    this.#sessionDeadline = runtime.setTimer(() => {
      const error = new RequestTimeoutError(
        `Group "${groupId}": no heartbeat was answered for ${sessionTimeoutMs} ms (sessionTimeoutMs), so the group has removed this member. It joins again; look for a blocked event loop, a suspended process or a slow network, or raise sessionTimeoutMs.`,
      );
      this.#reportLoss('rejoin', error);
    }, delayMs);
  }

  #reportLoss(next: MembershipLoss['next'], error: Error): number {
    this.stop();
    this.#options.onLoss({ kind: 'lost', next, error });
    return 0;
  }

  #error(code: number): BrokerError {
    return groupError(code, 'the heartbeat was not accepted', this.#options.settings);
  }
}
