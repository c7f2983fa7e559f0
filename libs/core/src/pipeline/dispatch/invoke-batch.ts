import { BatchProcessingException } from '../../errors/handler-errors.js';
import { throwIfFailed } from '../../errors/result-errors.js';
import { isConsumerResult } from '../../model/outcomes/consumer-result.js';
import { handedBack, type Outcome } from '../../model/outcomes/outcome.js';
import type { ReadyRecord } from './preparation.js';
import { isPromiseLike } from '../is-promise-like.js';
import { outcomeSetBeforeThrow } from './outcome-set-before-throw.js';
import { toError } from '../to-error.js';

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
    return isPromiseLike(result)
      ? outcomesAfterPromise(batch, result)
      : outcomesAfterReturn(batch, result);
  } catch (error) {
    return outcomesAfterThrow(batch, error);
  }
}

async function outcomesAfterPromise(
  batch: readonly ReadyRecord[],
  result: PromiseLike<unknown>,
): Promise<readonly Outcome[]> {
  try {
    return outcomesAfterReturn(batch, await result);
  } catch (error) {
    return outcomesAfterThrow(batch, error);
  }
}

/** Throws where the answer says that the batch as a whole failed. */
function outcomesAfterReturn(batch: readonly ReadyRecord[], answer: unknown): readonly Outcome[] {
  const results = resultsOf(batch, answer);
  if (!results) {
    throwIfFailed(answer);
    return batch.map(({ context }) => context.outcomeAfterReturn());
  }
  return batch.map((ready, index) => {
    try {
      throwIfFailed(results[index]);
      return ready.context.outcomeAfterReturn();
    } catch (error) {
      return outcomeSetBeforeThrow(ready, error) ?? callFailed(error);
    }
  });
}

/** One result for each record; undefined where the handler answered something else. */
function resultsOf(batch: readonly ReadyRecord[], answer: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(answer) || !answer.some(isConsumerResult)) return undefined;
  if (answer.length === batch.length) return answer;
  throw new TypeError(
    `The handler answered ${answer.length} results for ${batch.length} records. Answer one for each, in their order; undefined stands for success.`,
  );
}

function outcomesAfterThrow(batch: readonly ReadyRecord[], error: unknown): readonly Outcome[] {
  const failedIndex = failedIndexOf(batch, error);
  if (failedIndex === undefined) return outcomesWithoutFailedIndex(batch, error);
  return batch.map((ready, index) => {
    if (index === failedIndex) return outcomeSetBeforeThrow(ready, error) ?? callFailed(error);
    return index < failedIndex ? ready.context.outcomeAfterReturn() : ownOutcomeOrHandedBack(ready);
  });
}

/**
 * Nobody knows which record it was, and the first must not pay for another's fault: all come
 * again, one by one, but those that the handler has decided about.
 */
function outcomesWithoutFailedIndex(
  batch: readonly ReadyRecord[],
  error: unknown,
): readonly Outcome[] {
  const outcomes = batch.map(ownOutcomeOrHandedBack);
  const first = outcomes.indexOf(handedBack);
  return outcomes.map((outcome, index) =>
    index === first
      ? { kind: 'failed', reason: 'unattributed', error: toError(error), attempts: 1, delayMs: 0 }
      : outcome,
  );
}

function ownOutcomeOrHandedBack({ context }: ReadyRecord): Outcome {
  return context.outcomeAfterThrow() ?? handedBack;
}

function failedIndexOf(batch: readonly ReadyRecord[], error: unknown): number | undefined {
  if (batch.length === 1) return 0;
  const index = error instanceof BatchProcessingException ? error.failedIndex : -1;
  return Number.isInteger(index) && index >= 0 && index < batch.length ? index : undefined;
}

function callFailed(thrown: unknown): Outcome {
  return { kind: 'failed', reason: 'call-failed', error: toError(thrown), attempts: 1 };
}
