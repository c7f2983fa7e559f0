import type { AdminSession } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { Position } from './member-messages.js';

const EVERY_MS = 100;

/** A time span by the wall clock, which all processes share. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export interface Regression {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Polls the group's committed offsets from outside. */
export class CommittedWatch {
  readonly regressions: Regression[] = [];
  readonly polls: TimeSpan[] = [];
  readonly #admin: AdminSession;
  readonly #groupId: string;
  readonly #topic: string;
  readonly #last = new Map<number, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(admin: AdminSession, groupId: string, topic: string) {
    this.#admin = admin;
    this.#groupId = groupId;
    this.#topic = topic;
    this.#running = this.#run();
    this.#running.catch(() => undefined);
  }

  /** Polls once more, and returns the final committed offsets. */
  async stop(): Promise<readonly Position[]> {
    this.#stop.abort();
    await this.#running;
    await this.#poll();
    return [...this.#last].map(([partition, offset]) => ({ partition, offset }));
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#poll();
      await sleep(realRuntime, EVERY_MS, this.#stop.signal).catch(() => undefined);
    }
  }

  async #poll(): Promise<void> {
    const from = realRuntime.now();
    const committed = await this.#admin.groupOffsets(this.#groupId, [this.#topic]);
    // Before the group's first commit the broker may still be creating the offsets topic.
    if (committed.length > 0) this.polls.push({ from, to: realRuntime.now() });
    for (const { partition, offset } of committed) {
      const before = this.#last.get(partition) ?? 0;
      if (offset < before) this.regressions.push({ partition, from: before, to: offset });
      this.#last.set(partition, offset);
    }
  }
}
