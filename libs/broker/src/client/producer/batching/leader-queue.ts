import type { Timer } from '../../../runtime/index.js';
import type { PartitionQueue } from './partition-queue.js';
import { REQUEST_OVERHEAD, type SenderContext } from '../sender-context.js';

/**
 * The limit of requests in flight per leader, as in Java's `max.in.flight.requests.per.connection`.
 */
const MAX_IN_FLIGHT_REQUESTS = 5;

/**
 * The partitions that wait for one leader, and the number of requests in flight to that leader.
 *
 * A batch is sent when it is full, when `lingerMs` has passed, when it is a retry, or when no
 * request to the leader is in flight: waiting for an idle leader would have no advantage. So
 * batches grow while the leader is busy, and a single record is never delayed.
 */
export class LeaderQueue {
  /** The requests to this leader that are not answered yet. */
  inFlight = 0;
  readonly #partitions = new Set<PartitionQueue>();
  #lingerTimer: Timer | undefined;

  constructor(
    readonly node: number,
    private readonly context: SenderContext,
    private readonly skipsLinger: () => boolean,
    private readonly sendRequest: (leader: LeaderQueue, queues: readonly PartitionQueue[]) => void,
  ) {}

  add(queue: PartitionQueue): void {
    queue.state = 'ready';
    this.#partitions.add(queue);
  }

  pump(): void {
    this.#lingerTimer?.cancel();
    this.#lingerTimer = undefined;
    while (this.#partitions.size > 0 && this.inFlight < MAX_IN_FLIGHT_REQUESTS) {
      if (!this.#isDue()) return this.#waitForLinger();
      const queues = this.#collect();
      if (queues.length === 0) return;
      this.inFlight++;
      this.sendRequest(this, queues);
    }
  }

  stop(): void {
    this.#lingerTimer?.cancel();
    this.#partitions.clear();
  }

  #isDue(): boolean {
    if (this.inFlight === 0 || this.skipsLinger()) return true;
    const { batchBytes, lingerMs } = this.context.options;
    const lingerStart = this.context.cluster.runtime.monotonic() - lingerMs;
    // A single full batch or retry is enough to send now, because the other partitions share its
    // request.
    for (const { head, length } of this.#partitions) {
      if (head === undefined || length > 1 || head.attempts > 0) return true;
      if (head.sizeInBytes >= batchBytes || head.openedAt <= lingerStart) return true;
    }
    return false;
  }

  /**
   * Takes the batches for one request: at most one of each partition, first of the partition that
   * was queued first.
   */
  #collect(): PartitionQueue[] {
    const queues: PartitionQueue[] = [];
    let bytes = REQUEST_OVERHEAD;
    for (const queue of this.#partitions) {
      const batch = queue.prune();
      if (batch !== undefined) {
        bytes += batch.sizeInBytes + queue.topic.length + 16;
        if (queues.length > 0 && bytes > this.context.options.maxRequestBytes) break;
        batch.stage = 'chosen';
        queues.push(queue);
      }
      queue.state = batch === undefined ? 'empty' : 'in-flight';
      this.#partitions.delete(queue);
    }
    return queues;
  }

  /** Waits until the linger time of the partition that was queued first has passed. */
  #waitForLinger(): void {
    const [first] = this.#partitions;
    const { runtime } = this.context.cluster;
    const since = first?.head?.openedAt ?? runtime.monotonic();
    const left = since + this.context.options.lingerMs - runtime.monotonic();
    this.#lingerTimer = runtime.setTimer(() => this.pump(), Math.max(left, 0));
  }
}
