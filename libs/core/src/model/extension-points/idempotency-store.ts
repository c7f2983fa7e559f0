/**
 * - `new`: nobody has the key. It belongs to the one who asked, until his lease is over.
 * - `in-progress`: it belongs to somebody whose lease is not over.
 * - `done`: it was completed.
 */
export type ClaimAnswer = 'new' | 'in-progress' | 'done';

/**
 * Remembers which records were handled. Keys have at most 512 characters, owners at most 64, all of
 * them printable ASCII. What it throws, or rejects with, means that nobody knows: a store never
 * guesses.
 */
export interface IdempotencyStore {
  /**
   * In one step: of all who claim a key at the same time one gets `new`. `owner` names this one
   * claim; asked again it gets the same answer, since it may not have heard it.
   */
  claim(key: string, owner: string, leaseMs: number): ClaimAnswer | PromiseLike<ClaimAnswer>;
  /** The work is done, whoever has claimed it meanwhile: `done` is the answer for the next `ttlMs`. */
  complete(key: string, ttlMs: number): unknown;
  /** The next claim gets `new`. Nothing happens where the key is done, or another owner has it by now. */
  release(key: string, owner: string): unknown;
}
