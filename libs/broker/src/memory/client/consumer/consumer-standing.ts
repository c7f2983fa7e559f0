import { Deferred, type Runtime, type Timer } from '../../../runtime/index.js';
import { Refusal } from '../../broker/refusal.js';
import { toBrokerError } from '../refusal-errors.js';
import type { Identity } from './group-client.js';
import type { Standing } from './group-membership.js';
import { lossBy, type Loss } from './generation.js';

/** One membership by KIP-848, under one member id. Its epoch rises; without answers it ends by itself. */
export class ConsumerStanding implements Standing {
  identity: Identity;
  readonly #lost = new Deferred<Loss>();
  readonly #stop = new AbortController();
  #lease: Timer | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly sessionTimeoutMs: number,
  ) {
    this.identity = { memberId: runtime.uuid(), generation: -1 };
  }

  get lost(): Promise<Loss> {
    return this.#lost.promise;
  }

  /** Aborts once nothing more is said in this name. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  enter(epoch: number, sentAt: number): void {
    if (this.signal.aborted) return;
    this.identity = { ...this.identity, generation: epoch };
    this.#lease?.cancel();
    const delayMs = sentAt + this.sessionTimeoutMs - this.runtime.monotonic();
    this.#lease = this.runtime.setTimer(() => this.lose(this.#outlived()), delayMs);
  }

  fencedBy(refusal: Refusal): void {
    this.lose(lossBy(refusal));
  }

  lose(loss: Loss): void {
    this.#lost.resolve(loss);
  }

  stop(): void {
    this.#lease?.cancel();
    this.#stop.abort(new Error('The membership is over.'));
  }

  #outlived(): Loss {
    const error = new Refusal(
      'UNKNOWN_MEMBER_ID',
      `no heartbeat was answered for ${this.sessionTimeoutMs} ms, so the group has given this member up`,
    );
    return { kind: 'lost', error: toBrokerError(error), forgetId: false, isFinal: false };
  }
}
