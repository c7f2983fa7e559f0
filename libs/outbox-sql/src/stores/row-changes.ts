/** What ends a lock or a lease. */
export const CLEARED_LOCK = 'locked_by = NULL, locked_at = NULL, lease_until = NULL';

/** What makes a DEAD row NEW, besides the time at which it is available. */
export const NEW_AGAIN = `status = 0, attempts = 0, unfinished_attempts = 0, last_error = NULL, blocks_key = 0, ${CLEARED_LOCK}`;

const MAX_ERROR_LENGTH = 4_000;

/**
 * The error as it is stored. No text column of PostgreSQL can keep U+0000, and half of a surrogate
 * pair is no character.
 */
export const errorText = (error: string): string =>
  error
    .slice(0, MAX_ERROR_LENGTH)
    .replaceAll('\0', '')
    .replaceAll(/\p{Surrogate}/gu, '\uFFFD');
