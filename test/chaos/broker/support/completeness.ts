import type { Position } from './member-messages.js';

export interface Handled extends Position {
  readonly number: number;
}

export interface Completeness {
  /** Written, but neither handled before the committed offset nor read from it on. */
  readonly missing: readonly Position[];
  /** Handled more than once while the group was at work: the price of a hard end. */
  readonly duplicates: number;
  /** A record whose number stands at another offset than where it was written. */
  readonly misplaced: readonly Handled[];
}

/**
 * Whether a group that starts again from its committed offsets leaves nothing behind: what lies
 * before a committed offset must have been handled, what lies behind it must come now.
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
