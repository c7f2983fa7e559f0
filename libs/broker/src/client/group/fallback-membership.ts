import type { TopicPartition } from '../../port/record.js';
import type { Membership, MemberSnapshot } from './membership.js';

/** Uses the second membership if the broker does not support the protocol of the first one. */
export class FallbackMembership implements Membership {
  #current: Membership;
  #isClosing = false;

  constructor(
    preferred: (onUnsupported: (error: Error) => void) => Membership,
    instead: (error: Error) => Membership,
  ) {
    this.#current = preferred((error) => {
      if (this.#isClosing) return;
      this.#current = instead(error);
      this.#current.start();
    });
  }

  get snapshot(): MemberSnapshot {
    return this.#current.snapshot;
  }

  get leaseUntil(): number {
    return this.#current.leaseUntil;
  }

  get assignment(): readonly TopicPartition[] {
    return this.#current.assignment;
  }

  start(): void {
    this.#current.start();
  }

  owns(partition: TopicPartition, since: MemberSnapshot): boolean {
    return this.#current.owns(partition, since);
  }

  mayHaveNewGeneration(snapshot: MemberSnapshot): boolean {
    return this.#current.mayHaveNewGeneration(snapshot);
  }

  whenSettled(): Promise<void> {
    return this.#current.whenSettled();
  }

  reportExpelled(snapshot: MemberSnapshot, code: number): void {
    this.#current.reportExpelled(snapshot, code);
  }

  close(): Promise<void> {
    this.#isClosing = true;
    return this.#current.close();
  }
}
