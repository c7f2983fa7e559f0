/** The number of lock rows on MySQL. Keys of the same bucket wait for each other. */
export const KEY_BUCKETS = 1_024;

export const lockTableOf = (table: string): string => `${table}_lock`;
export const versionTableOf = (table: string): string => `${table}_schema`;
