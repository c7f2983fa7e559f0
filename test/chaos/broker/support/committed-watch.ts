import type { AdminSession } from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { Position } from './member-messages.js';

const EVERY_MS = 100;

/** From a moment to a later one, by the wall clock, which all processes share. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export interface Regression {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Looks at the group's offsets from outside, all the time. */
export class CommittedWatch {
  readonly regressions: Regression[] = [];
  readonly looks: Stretch[] = [];
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

  /** Looks once more and gives what the group has committed at the end. */
  async stop(): Promise<readonly Position[]> {
    this.#stop.abort();
    await this.#running;
    await this.#look();
    return [...this.#last].map(([partition, offset]) => ({ partition, offset }));
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look();
      await sleep(realRuntime, EVERY_MS, this.#stop.signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const from = realRuntime.now();
    const committed = await this.#admin.groupOffsets(this.#groupId, [this.#topic]);
    // Before the group's first commit the broker may still be making the place where offsets are kept.
    if (committed.length > 0) this.looks.push({ from, to: realRuntime.now() });
    for (const { partition, offset } of committed) {
      const before = this.#last.get(partition) ?? 0;
      if (offset < before) this.regressions.push({ partition, from: before, to: offset });
      this.#last.set(partition, offset);
    }
  }
}
