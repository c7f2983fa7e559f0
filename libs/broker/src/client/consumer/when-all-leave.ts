import type { OwnedPartition } from './fetching/owned-partition.js';

/** Aborts once the last of them has left. */
export function whenAllLeave(partitions: readonly OwnedPartition[]): AbortSignal {
  const control = new AbortController();
  let left = partitions.length;
  for (const { leaving } of partitions)
    leaving.addEventListener(
      'abort',
      () => {
        if (--left === 0) control.abort(leaving.reason);
      },
      { once: true },
    );
  return control.signal;
}
