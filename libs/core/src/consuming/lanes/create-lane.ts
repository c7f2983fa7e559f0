import type { AssignedPartition } from '@nest-event-bus/broker';
import { AckMode } from '../../model/states/ack-mode.js';
import { ListenerType } from '../../model/states/listener-type.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import { KeyedLane } from './keyed-lane.js';
import type { CommitPolicy, KeyedLaneParts, LaneParts } from './lane-parts.js';
import type { PartitionLane } from './partition-lane.js';
import { SerialLane } from './serial-lane.js';

export interface LaneOptions extends Omit<LaneParts, 'commits'>, Pick<KeyedLaneParts, 'slots'> {
  readonly settings: ConsumingSettings;
}

/** Creates the lane for the binding's `processing` and acknowledgement mode. */
export function createLane(assigned: AssignedPartition, options: LaneOptions): PartitionLane {
  const { settings } = options;
  const { by } = settings.processing;
  const isBatch =
    settings.listenerType === ListenerType.BATCH || options.processor.processSlice !== undefined;
  const parts = { ...options, commits: commitPolicyOf(settings, isBatch) };
  return by === 'partition'
    ? new SerialLane(assigned, parts)
    : new KeyedLane(assigned, { ...parts, by });
}

/**
 * A BATCH listener commits whole slices, in every acknowledgement mode. Only `commit.strict` and
 * transactions wait for the answer: a broker may take as long for a commit as for many slices.
 */
function commitPolicyOf(
  { ackMode, strictCommits, isTransactional }: ConsumingSettings,
  isBatch: boolean,
): CommitPolicy {
  const isImmediate = ackMode === AckMode.MANUAL_IMMEDIATE;
  const waits = strictCommits || isTransactional;
  const after = isImmediate && !isBatch ? 'record' : 'slice';
  return { after, waits, yields: isTransactional };
}
