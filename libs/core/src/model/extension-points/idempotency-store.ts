/**
 * - `new`: the key was free. The caller owns it until the lease ends.
 * - `in-progress`: another owner has the key, and its lease has not ended.
 * - `done`: the key was completed.
 */
export type ClaimAnswer = 'new' | 'in-progress' | 'done';

/**
 * Remembers which records were handled. Keys have at most 512 characters, owners at most 64, all of
 * them printable ASCII. An error or a rejection means that the state of the key is unknown: a store
 * never guesses.
 */
export interface IdempotencyStore {
  /**
   * Claims a key atomically: of all simultaneous claims one gets `new`. `owner` identifies this
   * claim. The same owner gets the same answer again, because the first answer may have been lost.
   */
  claim(key: string, owner: string, leaseMs: number): ClaimAnswer | PromiseLike<ClaimAnswer>;
  /** Marks the key as done, whoever has claimed it meanwhile. For the next `ttlMs` the answer is `done`. */
  complete(key: string, ttlMs: number): unknown;
  /** Frees the key, so that the next claim gets `new`. Has no effect if the key is done or has another owner by now. */
  release(key: string, owner: string): unknown;
}
