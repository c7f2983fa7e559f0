import type { Identity } from './group-client.js';
import type { Generation } from './generation.js';

/** The identity with which a commit is sent. */
export type CurrentMember = Pick<Generation, 'identity' | 'leaseUntil' | 'onFenced' | 'stop'>;

/** The membership of a session, by either protocol. */
export interface GroupMembership {
  readonly identity: Identity;
  /** The current membership; undefined if the session is not a member. */
  readonly current: CurrentMember | undefined;
  /**
   * Returns whether the group may have a newer generation in which this member still owns its
   * partitions.
   */
  mayStillOwn(current: CurrentMember): boolean;
  /** Runs until the session closes, then revokes the partitions. Never throws. */
  run(onFirstAssignment: () => void): Promise<void>;
  /** Cancels pending requests and starts the revocation. */
  close(): void;
  leave(timeoutMs: number): Promise<void>;
}
