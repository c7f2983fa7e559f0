import type { Position } from './member-messages.js';

export interface Handled extends Position {
  readonly number: number;
}

export interface Completeness {
  /**
   * Written records that were neither handled before the committed offset nor delivered behind it.
   */
  readonly missing: readonly Position[];
  /**
   * Number of records that were handled more than once while the group was running. A kill may
   * cause such duplicates.
   */
  readonly duplicates: number;
  /** Records that have another offset than the one at which their number was written. */
  readonly misplaced: readonly Handled[];
}

/**
 * Checks that a group that restarts from its committed offsets loses no record: records before a
 * committed offset must have been handled, and the records behind it must be delivered after the
 * restart.
 */
export function completenessOf(
  written: readonly (readonly number[])[],
  committed: readonly Position[],
  handled: readonly Handled[],
  readAfterwards: readonly Handled[],
): Completeness {
  const before = new Set(handled.map(nameOf));
  const after = new Set(readAfterwards.map(nameOf));
  const missing: Position[] = [];
  for (const [partition, offsets] of written.entries()) {
    const watermark = committed.find((each) => each.partition === partition)?.offset ?? 0;
    for (const offset of offsets) {
      const accounted = offset < watermark ? before : after;
      if (!accounted.has(nameOf({ partition, offset }))) missing.push({ partition, offset });
    }
  }
  return {
    missing,
    duplicates: handled.length - before.size,
    misplaced: [...handled, ...readAfterwards].filter(
      ({ partition, offset, number }) => written[partition]?.[number] !== offset,
    ),
  };
}

const nameOf = ({ partition, offset }: Position): string => `${partition}@${offset}`;
