import type { Timer } from '../../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  describeGroupConfigRequest,
  type ClusterClient,
} from '../../../wire/index.js';

/** Default of the brokers (`group.consumer.session.timeout.ms`). */
const DEFAULT_SESSION_MS = 45_000;
const SESSION_TIMEOUT = 'consumer.session.timeout.ms';

/**
 * Measures the time since the last answered heartbeat. After the session timeout the group has
 * given the partitions to other members, and this member loses them. The timeout is a setting of
 * the broker. If it cannot be read, its default is used.
 */
export class SessionDeadline {
  #sessionMs = DEFAULT_SESSION_MS;
  #timer: Timer | undefined;
  #lastSentAt: number | undefined;

  constructor(
    private readonly cluster: ClusterClient,
    private readonly groupId: string,
    private readonly onExpired: (sessionMs: number) => void,
  ) {}

  get sessionMs(): number {
    return this.#sessionMs;
  }

  /** Time of the monotonic clock; -Infinity before the first answer. */
  get expiresAt(): number {
    return this.#lastSentAt === undefined ? -Infinity : this.#lastSentAt + this.#sessionMs;
  }

  /**
   * Extends the session from the time at which the heartbeat was sent. The broker counts from its
   * arrival, which is later.
   */
  extend(sentAt: number): void {
    if (this.#lastSentAt === undefined) void this.#readSessionTimeout();
    this.#lastSentAt = sentAt;
    this.#timer?.cancel();
    const delayMs = sentAt + this.#sessionMs - this.cluster.runtime.monotonic();
    this.#timer = this.cluster.runtime.setTimer(() => this.onExpired(this.#sessionMs), delayMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Reads the timeout from the broker. The request needs the right DescribeConfigs on the group,
   * which not every client has.
   */
  async #readSessionTimeout(): Promise<void> {
    try {
      const request = describeGroupConfigRequest(this.groupId);
      const [answer] = await this.cluster.request('any', CONTROL_CHANNEL, request);
      const configured = Number(answer?.entries.find(([name]) => name === SESSION_TIMEOUT)?.[1]);
      if (Number.isSafeInteger(configured) && configured > 0) this.#sessionMs = configured;
    } catch {
      return;
    }
    if (this.#timer && this.#lastSentAt !== undefined) this.extend(this.#lastSentAt);
  }
}
