import type { TopicPartition } from '../../port/record.js';
import type { Membership, MemberSnapshot } from './membership.js';

/** A membership that becomes another one when the broker does not offer its protocol. */
export class FallbackMembership implements Membership {
  #membership: Membership;
  #isClosing = false;

  constructor(
    preferred: (onUnsupported: (error: Error) => void) => Membership,
    instead: (error: Error) => Membership,
  ) {
    this.#membership = preferred((error) => {
      if (this.#isClosing) return;
      this.#membership = instead(error);
      this.#membership.start();
    });
  }

  get snapshot(): MemberSnapshot {
    return this.#membership.snapshot;
  }

  get assignment(): readonly TopicPartition[] {
    return this.#membership.assignment;
  }

  start(): void {
    this.#membership.start();
  }

  owns(partition: TopicPartition, since: MemberSnapshot): boolean {
    return this.#membership.owns(partition, since);
  }

  hasGoneOn(snapshot: MemberSnapshot): boolean {
    return this.#membership.hasGoneOn(snapshot);
  }

  whenSettled(): Promise<void> {
    return this.#membership.whenSettled();
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    this.#membership.expelled(snapshot, code);
  }

  close(): Promise<void> {
    this.#isClosing = true;
    return this.#membership.close();
  }
}
