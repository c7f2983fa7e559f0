import type { Timer } from '../../../runtime/index.js';
import type { PartitionQueue } from './partition-queue.js';
import { REQUEST_OVERHEAD, type SenderContext } from '../sender-options.js';

/** Requests to one leader that may wait for an answer at a time. */
const REQUESTS_AT_ONCE = 5;

/**
 * The line before one leader, and what is under way to it.
 *
 * A batch leaves when it is full, when its linger is over, when it is tried again, or when the
 * leader has nothing to do: an idle leader would only wait with us. So company gathers while the
 * leader is busy, and a lone record is never held up.
 */
export class LeaderLane {
  readonly #line = new Set<PartitionQueue>();
  #underWay = 0;
  #lingering: Timer | undefined;

  constructor(
    readonly node: number,
    private readonly context: SenderContext,
    private readonly isHurried: () => boolean,
    private readonly load: (lane: LeaderLane, cargo: readonly PartitionQueue[]) => void,
  ) {}

  join(queue: PartitionQueue): void {
    queue.state = 'in-line';
    this.#line.add(queue);
  }

  /** A request to this leader was answered, or failed. */
  settled(): void {
    this.#underWay--;
  }

  pump(): void {
    this.#lingering?.cancel();
    this.#lingering = undefined;
    while (this.#line.size > 0 && this.#underWay < REQUESTS_AT_ONCE) {
      if (!this.#isDue()) return this.#linger();
      const cargo = this.#collect();
      if (cargo.length === 0) return;
      this.#underWay++;
      this.load(this, cargo);
    }
  }

  stop(): void {
    this.#lingering?.cancel();
    this.#line.clear();
  }

  #isDue(): boolean {
    if (this.#underWay === 0 || this.isHurried()) return true;
    const { batchBytes, lingerMs } = this.context.options;
    const longAgo = this.context.cluster.runtime.monotonic() - lingerMs;
    for (const { head, length } of this.#line) {
      if (head === undefined || length > 1 || head.attempts > 0) return true;
      if (head.sizeInBytes >= batchBytes || head.openedAt <= longAgo) return true;
    }
    return false;
  }

  /** What fits one request, those first who wait longest; at most one batch of a partition. */
  #collect(): PartitionQueue[] {
    const cargo: PartitionQueue[] = [];
    let bytes = REQUEST_OVERHEAD;
    for (const queue of this.#line) {
      const batch = queue.prune();
      if (batch !== undefined) {
        bytes += batch.sizeInBytes + queue.topic.length + 16;
        if (cargo.length > 0 && bytes > this.context.options.maxRequestBytes) break;
        batch.stage = 'chosen';
        cargo.push(queue);
      }
      queue.state = batch === undefined ? 'empty' : 'under-way';
      this.#line.delete(queue);
    }
    return cargo;
  }

  /** The longest waiting is the first in line. */
  #linger(): void {
    const [first] = this.#line;
    const { runtime } = this.context.cluster;
    const since = first?.head?.openedAt ?? runtime.monotonic();
    const left = since + this.context.options.lingerMs - runtime.monotonic();
    this.#lingering = runtime.setTimer(() => this.pump(), Math.max(left, 0));
  }
}
