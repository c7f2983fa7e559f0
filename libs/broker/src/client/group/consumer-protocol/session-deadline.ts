import type { Timer } from '../../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  describeGroupConfigRequest,
  type ClusterClient,
} from '../../../wire/index.js';

/** What brokers have by default (`group.consumer.session.timeout.ms`). */
const DEFAULT_SESSION_MS = 45_000;
const SESSION_TIMEOUT = 'consumer.session.timeout.ms';

/**
 * How long we are a member without an answer: by then the group has given our partitions to
 * others, whether or not we can hear it say so. The broker decides how long that is; one that does
 * not tell is taken to have the usual time.
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

  /** The broker counts from when it got the heartbeat, which is after we sent it. */
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

  /** Needs DescribeConfigs on the group, which not everybody has. */
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
