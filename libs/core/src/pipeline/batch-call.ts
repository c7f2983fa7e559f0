import { BatchProcessingException } from '../errors/handler-errors.js';
import { handedBack, type Outcome } from '../model/outcome.js';
import type { ReadyRecord } from './preparation.js';
import { isPromiseLike } from './promise-like.js';
import { failedWith } from './thrown-error.js';

/** Calls the handler of all these records once. Never throws. */
export function invokeBatch(
  batch: readonly ReadyRecord[],
): readonly Outcome[] | Promise<readonly Outcome[]> {
  const handler = batch[0]?.handler;
  if (!handler) return [];
  try {
    const records = batch.map(({ record }) => record);
    const contexts = batch.map(({ context }) => context);
    const result = handler.invoke(records, contexts);
    return isPromiseLike(result) ? settledLater(batch, result) : settled(batch);
  } catch (error) {
    return failedBatch(batch, error);
  }
}

async function settledLater(
  batch: readonly ReadyRecord[],
  result: PromiseLike<unknown>,
): Promise<readonly Outcome[]> {
  try {
    await result;
    return settled(batch);
  } catch (error) {
    return failedBatch(batch, error);
  }
}

function settled(batch: readonly ReadyRecord[]): readonly Outcome[] {
  return batch.map(({ context }) => context.settle());
}

/** Without a word about where it stopped, the handler may have stopped at the first record. */
function failedBatch(batch: readonly ReadyRecord[], error: unknown): readonly Outcome[] {
  const failedIndex = indexIn(batch, error);
  return batch.map(({ context }, index) => {
    if (index === failedIndex) return failedWith(error);
    return index < failedIndex ? context.settle() : handedBack;
  });
}

function indexIn(batch: readonly ReadyRecord[], error: unknown): number {
  const index = error instanceof BatchProcessingException ? error.failedIndex : 0;
  return Number.isInteger(index) && index >= 0 && index < batch.length ? index : 0;
}
