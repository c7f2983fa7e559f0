/** The replay of one letter by one operation. */
export interface ReplayOfLetter {
  readonly operation: string;
  /** The partition of the dead-letter topic. */
  readonly partition: number;
  readonly offset: number;
}

const FORMAT = /^([\w.-]{1,64})\/(\d{1,10})\/(\d{1,16})$/;

/** Identifies a replay in the header of its record. */
export function replayIdOf({ operation, partition, offset }: ReplayOfLetter): string {
  return `${operation}/${partition}/${offset}`;
}

/** Returns undefined for a text that no redrive has written. */
export function parseReplayId(replayId: string): ReplayOfLetter | undefined {
  const [, operation, partition, offset] = FORMAT.exec(replayId) ?? [];
  if (operation === undefined) return undefined;
  return { operation, partition: Number(partition), offset: Number(offset) };
}
