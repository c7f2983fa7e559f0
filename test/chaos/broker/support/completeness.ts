import type { Position } from './member-messages.js';

export interface Handled extends Position {
  readonly number: number;
}

export interface Completeness {
  /** Written, but neither handled before the committed offset nor read from there. */
  readonly missing: readonly Position[];
  /** Handled more than once while the group was running, which a kill may cause. */
  readonly duplicates: number;
  /** A record with another offset than the one at which its number was written. */
  readonly misplaced: readonly Handled[];
}

/**
 * Checks that a group that restarts from its committed offsets loses nothing: records before a committed
 * offset must have been handled, and records behind it must be delivered now.
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
