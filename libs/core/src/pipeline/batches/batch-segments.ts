import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import {
  handedBack,
  isFinal,
  isHandedBackWithoutDelay,
  type Outcome,
} from '../../model/outcomes/outcome.js';
import { andThen } from '../and-then.js';
import type { PipelineStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

/** A record after its preparation. It is ready for its handler if it has no outcome. */
export interface PreparedRecord {
  readonly call: RecordCall;
  readonly outcome: Prepared;
}

/** Records of a slice, in their order, that were not passed to a handler yet. */
export interface SliceRest {
  readonly records: readonly PreparedRecord[];
  readonly goesOneByOne: boolean;
}

/**
 * Returns the slice as it was received. Its records are handled one by one if one of them has failed
 * and it is not known which.
 */
export function wholeSlice(records: readonly PreparedRecord[]): SliceRest {
  const goesOneByOne = records[0]?.call.delivery.history.isUnattributed ?? false;
  return { records, goesOneByOne };
}

/**
 * Calls a handler once. Returns one outcome for each record of the call; these are the first
 * records of the slice. The caller decides whether to continue with the later records. Returns a
 * promise only if a step does.
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

/**
 * Returns the last records of a call that were handed back, ready for another call. Returns none if
 * the handler has read one of them, because it may have changed the value.
 */
export function handedBackAgain(
  records: readonly PreparedRecord[],
  outcomes: readonly Outcome[],
): readonly PreparedRecord[] {
  const start = outcomes.findLastIndex((outcome) => !isHandedBackWithoutDelay(outcome)) + 1;
  const again: PreparedRecord[] = [];
  for (const record of records.slice(start, outcomes.length)) {
    const call = isReady(record) ? record.call.renewed() : record.call;
    if (!call) return [];
    again.push({ ...record, call });
  }
  return again;
}

/**
 * Returns the first records of the slice that have the same handler. Discarded records in between
 * do not end the segment. A record that has failed before is a segment of its own, so that no other
 * record fails with it.
 */
function nextSegment({ records, goesOneByOne }: SliceRest): readonly PreparedRecord[] {
  const [first] = records;
  if (goesOneByOne || (first && hasFailedBefore(first))) return records.slice(0, 1);
  const { handler } = records.find(isReady)?.call ?? {};
  const end = records.findIndex(
    (record) => !isOfHandler(record, handler) || hasFailedBefore(record),
  );
  return end === -1 ? records : records.slice(0, Math.max(end, 1));
}

function isOfHandler(
  { call, outcome }: PreparedRecord,
  handler: HandlerDefinition | undefined,
): boolean {
  return outcome ? isFinal(outcome) : call.handler === handler;
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
