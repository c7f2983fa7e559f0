import type { Timer } from '../../runtime/index.js';
import { CONTROL_LANE, describeGroupConfigRequest } from '../../wire/index.js';
import type { GroupCluster } from './group-cluster.js';

/** What brokers have by default (`group.consumer.session.timeout.ms`). */
const USUAL_SESSION_MS = 45_000;
const SESSION_TIMEOUT = 'consumer.session.timeout.ms';

/**
 * How long we are a member without an answer: by then the group has given our partitions to
 * others, whether or not we can hear it say so. The broker decides how long that is; one that does
 * not tell is taken to have the usual time.
 */
export class Lease {
  #sessionMs = USUAL_SESSION_MS;
  #timer: Timer | undefined;
  #answeredAt: number | undefined;

  constructor(
    private readonly cluster: GroupCluster,
    private readonly groupId: string,
    private readonly onOver: (sessionMs: number) => void,
  ) {}

  get sessionMs(): number {
    return this.#sessionMs;
  }

  /** The broker counts from when it got the heartbeat, which is after we sent it. */
  renew(sentAt: number): void {
    if (this.#answeredAt === undefined) void this.#ask();
    this.#answeredAt = sentAt;
    this.#timer?.cancel();
    const delayMs = sentAt + this.#sessionMs - this.cluster.runtime.monotonic();
    this.#timer = this.cluster.runtime.setTimer(() => this.onOver(this.#sessionMs), delayMs);
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Needs DescribeConfigs on the group, which not everybody has. */
  async #ask(): Promise<void> {
    try {
      const request = describeGroupConfigRequest(this.groupId);
      const [answer] = await this.cluster.request('any', CONTROL_LANE, request);
      const told = Number(answer?.entries.find(([name]) => name === SESSION_TIMEOUT)?.[1]);
      if (Number.isSafeInteger(told) && told > 0) this.#sessionMs = told;
    } catch {
      return;
    }
    if (this.#timer && this.#answeredAt !== undefined) this.renew(this.#answeredAt);
  }
}
