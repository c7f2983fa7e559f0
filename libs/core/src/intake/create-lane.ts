import type { AssignedPartition } from '@nest-event-bus/broker';
import { AckMode } from '../model/ack-mode.js';
import { ListenerType } from '../model/listener-type.js';
import type { IntakeSettings } from './intake.js';
import { KeyedLane } from './keyed-lane.js';
import type { CommitPolicy, KeyedLaneParts, LaneParts } from './lane-parts.js';
import type { PartitionLane } from './partition-lane.js';
import { PollIntervalSafetyValve } from './poll-interval-safety-valve.js';
import { SerialLane } from './serial-lane.js';

export interface LaneOptions
  extends Omit<LaneParts, 'commits' | 'valve'>, Pick<KeyedLaneParts, 'slots'> {
  readonly settings: IntakeSettings;
}

/** As the binding wants its records handed out, and committed. */
export function createLane(assigned: AssignedPartition, options: LaneOptions): PartitionLane {
  const { settings, runtime } = options;
  const { by } = settings.processing;
  const isBatch =
    settings.listenerType === ListenerType.BATCH || options.processor.processSlice !== undefined;
  const parts = { ...options, commits: commitPolicyOf(settings, isBatch) };
  if (by !== 'partition') return new KeyedLane(assigned, { ...parts, by });
  if (!isBatch) return new SerialLane(assigned, parts);
  const valve = new PollIntervalSafetyValve(runtime, settings.maxPollIntervalMs);
  return new SerialLane(assigned, { ...parts, valve });
}

/** A BATCH listener's progress is that of whole slices, whatever its acknowledgement mode. */
function commitPolicyOf(
  { ackMode, strictCommits }: IntakeSettings,
  isBatch: boolean,
): CommitPolicy {
  const isImmediate = ackMode === AckMode.MANUAL_IMMEDIATE;
  if (isBatch) return { after: 'slice', waits: isImmediate || strictCommits };
  return { after: isImmediate ? 'record' : 'slice', waits: strictCommits };
}
