import { handedBack, isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import { andThen } from '../and-then.js';
import type { PipelineStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

/** A record after its preparation. Without an outcome it is ready for its handler. */
export interface PreparedRecord {
  readonly call: RecordCall;
  readonly outcome: Prepared;
}

/** Records of a slice, in their order, that no handler has been called with yet. */
export interface SliceRest {
  readonly records: readonly PreparedRecord[];
  readonly goesOneByOne: boolean;
}

/** A slice that begins with a record that failed before goes one by one, so that no other record fails with it. */
export function wholeSlice(records: readonly PreparedRecord[]): SliceRest {
  const goesOneByOne = records[0] !== undefined && hasFailedBefore(records[0]);
  return { records, goesOneByOne };
}

/**
 * Makes the next call of a handler. Returns one outcome for each record of it, which are the first
 * ones of the slice. The caller decides whether it goes on behind them. Returns a promise only if
 * the steps do.
 */
export function callNext(
  rest: SliceRest,
  next: PipelineStep,
): readonly Outcome[] | Promise<readonly Outcome[]> {
  const segment = nextSegment(rest);
  const ready = segment.filter(isReady).map(({ call }) => call);
  const outcomes = ready.length === 0 ? [] : next.processSlice(ready);
  return andThen(outcomes, inTheirPlaces, segment);
}

/** Ends where another handler takes over. Discarded records in between do not end it. */
function nextSegment({ records, goesOneByOne }: SliceRest): readonly PreparedRecord[] {
  if (goesOneByOne) return records.slice(0, 1);
  const { handler } = records.find(isReady)?.call ?? {};
  const end = records.findIndex(({ call, outcome }) =>
    outcome ? !isFinal(outcome) : call.handler !== handler,
  );
  return end === -1 ? records : records.slice(0, Math.max(end, 1));
}

function inTheirPlaces(
  outcomes: readonly Outcome[],
  segment: readonly PreparedRecord[],
): readonly Outcome[] {
  const ofReady = outcomes.values();
  return segment.map(({ outcome }) => outcome ?? ofReady.next().value ?? handedBack);
}

function isReady({ outcome }: PreparedRecord): boolean {
  return outcome === undefined;
}

function hasFailedBefore({ call, outcome }: PreparedRecord): boolean {
  if (outcome) return false;
  return call.delivery.history.failures > 0;
}
