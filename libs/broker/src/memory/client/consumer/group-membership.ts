import type { Identity } from './group-client.js';
import type { Generation } from './generation.js';

/** As what commits are made. */
export type CurrentMember = Pick<Generation, 'identity' | 'onFenced' | 'stop'>;

/** What a session needs of its membership, by whichever protocol. */
export interface GroupMembership {
  readonly identity: Identity;
  /** undefined while not a member. */
  readonly current: CurrentMember | undefined;
  /** Whether the group may have gone on from there with us: what is owned may be ours later too. */
  mayStillOwn(current: CurrentMember): boolean;
  /** Stays as long as the session lasts, then hands back. Ends without throwing. */
  run(onFirstAssignment: () => void): Promise<void>;
  /** What is under way is abandoned; what is owned is handed back. */
  close(): void;
  leave(timeoutMs: number): Promise<void>;
}
