import type { ContainerRegistration } from '../../containers/container-registration.js';
import type { MessageContainer } from '../../containers/message-container.js';
import type {
  BindingLag,
  DeadLetterDepth,
  GroupLag,
  LagStatus,
  PartitionLag,
} from '../../model/states/lag.js';
import type { LaneView } from '../../model/states/lane-view.js';
import { lagStatus, type Finding } from './lag-status.js';
import type { PartitionHistory } from './partition-history.js';
import { firstUnfinished, writtenAt } from './partition-lag.js';
import type { WatermarkHistory } from './watermark-history.js';

/** What the polls have found about a partition of a container. */
export interface PartitionFacts {
  readonly partition: number;
  readonly history: PartitionHistory;
  readonly watermarks: WatermarkHistory;
}

export interface BindingFacts {
  readonly registration: ContainerRegistration;
  readonly at: number | undefined;
  readonly error: string | undefined;
  readonly partitionsOf: (container: MessageContainer) => readonly PartitionFacts[];
  readonly deadLetters: DeadLetterDepth | undefined;
  readonly now: number;
}

/** From the worst status to the best. A group has the worst status of its partitions. */
const FROM_WORST_TO_BEST: readonly LagStatus[] = [
  'STALLED',
  'REWIND',
  'STOPPED',
  'CIRCUIT_OPEN',
  'PAUSED',
  'WARNING',
  'UNKNOWN',
  'OK',
];

export function bindingLag(facts: BindingFacts): BindingLag {
  const { registration, at, error } = facts;
  const main = groupLag(facts, registration.mainContainer);
  const { records, seconds, status, cause } = main;
  return {
    binding: registration.bindingName,
    cluster: registration.cluster,
    groupId: main.groupId,
    at,
    error,
    ...{ records, seconds, status, cause },
    main,
    tiers: registration.retryTierContainers.map((container) => groupLag(facts, container)),
    deadLetters: facts.deadLetters,
  };
}

function groupLag(facts: BindingFacts, container: MessageContainer): GroupLag {
  const { topic, groupId, tier, lanes } = container;
  const partitions = facts.partitionsOf(container).map((each) => {
    const lane = lanes.find((one) => one.topic === topic && one.partition === each.partition);
    return partitionLag(facts, container, each, lane);
  });
  const [status, cause] = facts.at === undefined ? UNKNOWN : worstOf(partitions);
  return {
    ...{ topic, groupId, tier, status, cause, partitions },
    records: partitions.reduce((sum, { records }) => sum + records, 0),
    seconds: oldestOf(partitions),
  };
}

const UNKNOWN: Finding = ['UNKNOWN', 'the cluster has not answered yet'];

function partitionLag(
  { registration, now }: BindingFacts,
  container: MessageContainer,
  { partition, history, watermarks }: PartitionFacts,
  lane: LaneView | undefined,
): PartitionLag {
  const { topic, status: containerStatus } = container;
  const { records } = history;
  const { low, high, committed } = history.offsets;
  const [status, cause] = lagStatus({
    ...{ topic, partition, records, registration, lane, now },
    window: history.window,
    container: containerStatus,
  });
  const seconds = ageOf(firstUnfinished(history.next, lane), history, watermarks, lane, now);
  return { topic, partition, records, seconds, status, cause, low, high, committed };
}

/** Returns the age of the record at an offset, in seconds; 0 if there is no such record. */
function ageOf(
  offset: number,
  { offsets, readTimestamp }: PartitionHistory,
  watermarks: WatermarkHistory,
  lane: LaneView | undefined,
  now: number,
): number | undefined {
  const held = lane?.head?.offset === offset ? lane.head : undefined;
  if (offset >= offsets.high && !held) return 0;
  const read = readTimestamp?.offset === offset ? readTimestamp : undefined;
  const at = writtenAt(watermarks.arrivalOf(offset), (held ?? read)?.timestamp);
  return at === undefined ? undefined : Math.max(0, now - at) / 1_000;
}

function worstOf(partitions: readonly PartitionLag[]): Finding {
  const status =
    FROM_WORST_TO_BEST.find((each) => partitions.some((one) => one.status === each)) ?? 'OK';
  return [status, partitions.find((each) => each.status === status)?.cause];
}

/** Returns undefined if one of the partitions that have lag has no known age. */
function oldestOf(partitions: readonly PartitionLag[]): number | undefined {
  const ages = partitions.map(({ seconds }) => seconds);
  if (ages.includes(undefined)) return undefined;
  return Math.max(0, ...ages.filter((age) => age !== undefined));
}
