import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import { invokeBatch } from './invoke-batch.js';
import type { HandlerStep } from './handler-step.js';
import type { Prepared, ReadyRecord } from './preparation.js';
import { isPromiseLike } from '../is-promise-like.js';

/** Records of a slice in their order, none of which has come to its handler. */
export interface SliceRest {
  readonly prepared: readonly Prepared[];
  readonly goesOneByOne: boolean;
}

/** One that begins with a record that has failed before goes one by one, so that nobody pays for another's fault. */
export function wholeSlice(prepared: readonly Prepared[]): SliceRest {
  const goesOneByOne = prepared[0] !== undefined && hasFailedBefore(prepared[0]);
  return { prepared, goesOneByOne };
}

/**
 * The next call of a handler. One outcome for each record that it takes, the first ones of the
 * slice; whether it goes on behind them is not decided here. A promise only where a handler gives one.
 */
export function callNext(
  rest: SliceRest,
  step: HandlerStep,
): readonly Outcome[] | Promise<readonly Outcome[]> {
  const stretch = nextStretch(rest);
  const ready = stretch.filter(isReady);
  const outcomes = ready.length === 0 ? [] : step.invokeSlice(ready, invokeBatch);
  return isPromiseLike(outcomes)
    ? outcomes.then((settled) => inTheirPlaces(stretch, settled))
    : inTheirPlaces(stretch, outcomes);
}

/** As far as one handler takes the records; those that are discarded do not part them. */
function nextStretch({ prepared, goesOneByOne }: SliceRest): readonly Prepared[] {
  if (goesOneByOne) return prepared.slice(0, 1);
  const { handler } = prepared.find(isReady) ?? {};
  const end = prepared.findIndex((each) => !belongs(each, handler));
  return end === -1 ? prepared : prepared.slice(0, Math.max(end, 1));
}

function inTheirPlaces(
  stretch: readonly Prepared[],
  outcomes: readonly Outcome[],
): readonly Outcome[] {
  const ofReady = outcomes.values();
  return stretch.map((each) => (isReady(each) ? (ofReady.next().value ?? handedBack) : each));
}

function isReady(prepared: Prepared): prepared is ReadyRecord {
  return prepared.kind === 'ready';
}

function belongs(prepared: Prepared, handler: ReadyRecord['handler'] | undefined): boolean {
  return isReady(prepared) ? prepared.handler === handler : isFinal(prepared);
}

function hasFailedBefore(prepared: Prepared): boolean {
  if (!isReady(prepared)) return false;
  return prepared.delivery.history.failures > 0;
}
