import type { Identity } from './group-client.js';
import type { Generation } from './generation.js';

/** The identity that a commit is sent with. */
export type CurrentMember = Pick<Generation, 'identity' | 'leaseUntil' | 'onFenced' | 'stop'>;

/** The membership of a session, by either protocol. */
export interface GroupMembership {
  readonly identity: Identity;
  /** The current membership; undefined while not a member. */
  readonly current: CurrentMember | undefined;
  /**
   * Returns whether the group may have moved to a new generation with this member, which may still
   * own its partitions.
   */
  mayStillOwn(current: CurrentMember): boolean;
  /** Runs until the session closes, then revokes. Never throws. */
  run(onFirstAssignment: () => void): Promise<void>;
  /** Cancels pending requests and starts the revocation. */
  close(): void;
  leave(timeoutMs: number): Promise<void>;
}
