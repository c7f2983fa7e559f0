import { UnsupportedError } from '../../../port/errors.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  consumerHeartbeatRequest,
  JOIN_GROUP_EPOCH,
  reactionTo,
  type ConsumerHeartbeatFields,
  type ConsumerHeartbeatResponse,
} from '../../../wire/index.js';
import { withEitherSignal } from '../either-signal.js';
import { groupError, type GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { retryUrgencyAfter } from '../retry-urgency.js';
import type { MembershipLoss } from '../membership.js';

export interface ConsumerHeartbeatOptions {
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings;
  readonly memberId: string;
  readonly claim: () => ConsumerHeartbeatFields;
  /**
   * Returns a third of the session timeout, so that another attempt fits in before the session
   * expires.
   */
  readonly timeoutMs: () => number;
  readonly onAnswer: (answer: ConsumerHeartbeatResponse, sentAt: number) => void;
  readonly onError: (error: Error) => void;
}

/** The heartbeat interval until the broker has returned its own. */
const FIRST_INTERVAL_MS = 5_000;
const RETRY_AFTER_MS = 100;
const UNRELEASED_INSTANCE_ID = 111;
const SLOW_RETRY = { initialMs: 3_000, maxMs: 10_000 };

/**
 * The interval after a new member epoch. More partitions usually follow when other members release
 * them.
 */
const FAST_INTERVAL_MS = 500;
const FAST_HEARTBEATS = 10;

/**
 * Sends the heartbeats of one membership, one at a time. Each request and each response contains
 * the full state, so that a lost heartbeat does no harm.
 */
export class ConsumerHeartbeat {
  epoch = JOIN_GROUP_EPOCH;
  readonly #options: ConsumerHeartbeatOptions;
  readonly #slowBackoff: Backoff;
  #shortBackoff: Backoff;
  #intervalMs = FIRST_INTERVAL_MS;
  #fastHeartbeatsLeft = 0;
  #wakeController = new AbortController();
  /** True after a join without a response. The group may have accepted it. */
  #mayHaveJoined = false;

  constructor(options: ConsumerHeartbeatOptions) {
    this.#options = options;
    this.#slowBackoff = new Backoff(options.coordinator.runtime, SLOW_RETRY);
    this.#shortBackoff = this.#createBackoff();
  }

  /** Sends the next heartbeat at once. */
  wake(): void {
    this.#wakeController.abort();
  }

  /** Resolves when the membership has ended. Rejects when the signal aborts. */
  async run(signal: AbortSignal): Promise<MembershipLoss> {
    for (;;) {
      this.#wakeController = new AbortController();
      const end = await this.#send(signal);
      if (typeof end !== 'number') return end;
      await this.#pause(end, signal);
    }
  }

  /** Returns the delay until the next heartbeat, or the loss of the membership. */
  async #send(signal: AbortSignal): Promise<number | MembershipLoss> {
    const { coordinator, settings, memberId, claim, timeoutMs, onError } = this.#options;
    const { runtime, channel } = coordinator;
    const sentAt = runtime.monotonic();
    try {
      const member = { ...settings, memberId };
      const request = consumerHeartbeatRequest(member, this.epoch, claim());
      const { node, answer } = await coordinator.request(channel, request, {
        timeoutMs: timeoutMs(),
        signal,
      });
      if (answer.errorCode !== 0) return this.#onRefused(answer, node);
      return this.#onAnswered(answer, sentAt);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UnsupportedError) return lost('fall-back', error);
      const urgency = retryUrgencyAfter(error);
      if (urgency === 'never') return lost('fail', error as Error);
      this.#mayHaveJoined ||= this.epoch === JOIN_GROUP_EPOCH;
      onError(error as Error);
      return (urgency === 'slowly' ? this.#slowBackoff : this.#shortBackoff).next();
    }
  }

  #onAnswered(answer: ConsumerHeartbeatResponse, sentAt: number): number {
    const { epoch, intervalMs } = answer;
    if (epoch !== this.epoch) this.#fastHeartbeatsLeft = FAST_HEARTBEATS;
    this.epoch = epoch;
    this.#intervalMs = intervalMs;
    this.#shortBackoff = this.#createBackoff();
    this.#slowBackoff.reset();
    this.#options.onAnswer(answer, sentAt);
    const nextMs =
      this.#fastHeartbeatsLeft-- > 0 ? Math.min(FAST_INTERVAL_MS, intervalMs) : intervalMs;
    const { runtime } = this.#options.coordinator;
    return Math.max(sentAt + nextMs - runtime.monotonic(), nextMs / 2);
  }

  #onRefused(
    { errorCode, message }: ConsumerHeartbeatResponse,
    node: number,
  ): number | MembershipLoss {
    const { coordinator, settings, onError } = this.#options;
    const step = this.epoch === JOIN_GROUP_EPOCH ? 'consumerJoin' : 'consumerHeartbeat';
    const brokerMessage = message ? ` (the broker: ${message})` : '';
    const error = groupError(errorCode, `the heartbeat was not accepted${brokerMessage}`, settings);
    // 1. The group accepts the join of a static member. 2. The response is lost. 3. The group
    // refuses the repeated join, because the instance id is in use: by this member itself.
    if (errorCode === UNRELEASED_INSTANCE_ID && this.#mayHaveJoined) return lost('rejoin', error);
    switch (reactionTo(step, errorCode)) {
      case 'lost':
        return lost('rejoin', error);
      case 'lost-rejoin-as-new':
        return lost('rejoin-as-new', error);
      case 'fall-back':
        return lost('fall-back', error);
      case 'find-coordinator':
        coordinator.forget(node);
        onError(error);
        return this.#shortBackoff.next();
      case 'slow-retry':
        onError(error);
        return this.#slowBackoff.next();
      case 'retry':
        onError(error);
        return this.#shortBackoff.next();
      default:
        return lost('fail', error);
    }
  }

  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#options.coordinator;
    await withEitherSignal(signal, this.#wakeController.signal, (until) =>
      sleep(runtime, delayMs, until).catch(() => signal.throwIfAborted()),
    );
  }

  #createBackoff(): Backoff {
    const maxMs = Math.max(RETRY_AFTER_MS, Math.min(this.#intervalMs, 2_000));
    return new Backoff(this.#options.coordinator.runtime, { initialMs: RETRY_AFTER_MS, maxMs });
  }
}

function lost(next: MembershipLoss['next'], error: Error): MembershipLoss {
  return { kind: 'lost', next, error };
}
