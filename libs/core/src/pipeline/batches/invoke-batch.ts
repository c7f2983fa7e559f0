import { isOneOf } from '../../failures/faults/thrown.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import { isConsumerResult } from '../../model/outcomes/consumer-result.js';
import { handedBack, type Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCall } from '../record-call.js';
import { isPromiseLike } from '../and-then.js';
import { outcomeSetBeforeThrow } from '../context/outcome-set-before-throw.js';
import { toError } from '../to-error.js';

/** Calls the handler once with all these records. Never throws. */
export function invokeBatch(
  batch: readonly RecordCall[],
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
  batch: readonly RecordCall[],
  result: PromiseLike<unknown>,
): Promise<readonly Outcome[]> {
  try {
    return outcomesAfterReturn(batch, await result);
  } catch (error) {
    return outcomesAfterThrow(batch, error);
  }
}

/**
 * Returns the outcomes after the handler returned. Throws if the answer says that the batch as a
 * whole failed.
 */
function outcomesAfterReturn(batch: readonly RecordCall[], answer: unknown): readonly Outcome[] {
  const results = resultsOf(batch, answer);
  if (!results) {
    batch[0]?.context.examine(answer);
    return batch.map(({ context }) => context.outcomeAfterReturn(undefined));
  }
  return batch.map((ready, index) => {
    try {
      return ready.context.outcomeAfterReturn(results[index]);
    } catch (error) {
      return outcomeSetBeforeThrow(ready, error) ?? callFailed(error);
    }
  });
}

/** Returns the result of each record; undefined if the handler returned no list of results. */
function resultsOf(batch: readonly RecordCall[], answer: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(answer) || !answer.some(isConsumerResult)) return undefined;
  if (answer.length === batch.length) return answer;
  batch[0]?.context.problems.wrongNumberOfResults(answer.length, batch.length);
  throw new TypeError(
    `The handler answered ${answer.length} results for ${batch.length} records. Answer one for each, in their order; undefined stands for success.`,
  );
}

function outcomesAfterThrow(batch: readonly RecordCall[], error: unknown): readonly Outcome[] {
  const failedIndex = failedIndexOf(batch, error);
  if (failedIndex === undefined) return outcomesWithoutFailedIndex(batch, error);
  return batch.map((ready, index) => {
    if (index === failedIndex) return outcomeSetBeforeThrow(ready, error) ?? callFailed(error);
    return index < failedIndex
      ? ready.context.outcomeAfterReturn(undefined)
      : ownOutcomeOrHandedBack(ready);
  });
}

/**
 * Returns the outcomes if the error names no record. The failure may be that of any record, so all
 * records are redelivered one by one, except those about which the handler has already decided.
 */
function outcomesWithoutFailedIndex(
  batch: readonly RecordCall[],
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

function ownOutcomeOrHandedBack({ context }: RecordCall): Outcome {
  return context.outcomeAfterThrow() ?? handedBack;
}

function failedIndexOf(batch: readonly RecordCall[], error: unknown): number | undefined {
  if (batch.length === 1) return 0;
  const namesRecord = isOneOf(error, [BatchProcessingException]);
  const index = namesRecord ? (error as BatchProcessingException).failedIndex : -1;
  return Number.isInteger(index) && index >= 0 && index < batch.length ? index : undefined;
}

/** Returns a failed outcome. The retry policy decides whether there is another call. */
function callFailed(thrown: unknown): Outcome {
  return { kind: 'failed', reason: 'call-failed', error: toError(thrown), attempts: 1 };
}
