import type { TopicPartition } from '../../port/record.js';
import type { GroupMember, Membership } from './membership.js';

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

  get member(): GroupMember {
    return this.#current.member;
  }

  get assignment(): readonly TopicPartition[] {
    return this.#current.assignment;
  }

  start(): void {
    this.#current.start();
  }

  whenSettled(): Promise<void> {
    return this.#current.whenSettled();
  }

  close(): Promise<void> {
    this.#isClosing = true;
    return this.#current.close();
  }
}
