import type { Decision } from '../model/outcomes/decision.js';
import type { ContainerState } from '../model/states/container-state.js';

/** A binding as every process of its group knows it. */
export interface FleetBinding {
  readonly name: string;
  readonly cluster: string;
  readonly groupId: string;
}

/** What processes are told to do with a binding. */
export type FleetAction =
  | { readonly name: 'start' | 'stop' | 'pause' | 'resume' }
  | { readonly name: 'pause-tier' | 'resume-tier'; readonly tier: number }
  | {
      readonly name: 'decide';
      readonly topic: string;
      readonly partition: number;
      /** Decimal text. If omitted, the decision is about the record for which the partition waits. */
      readonly offset?: string;
      readonly decision: Decision;
    };

interface Authored {
  readonly by?: string;
  readonly reason?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A command to all processes that have the binding. */
export interface CommandEntry extends Authored {
  readonly kind: 'command';
  readonly id: string;
  readonly action: FleetAction;
  readonly binding: FleetBinding;
  /** The instance that was given the command. */
  readonly from: string;
  /** Time after which no instance obeys the command. */
  readonly validMs: number;
}

/**
 * How an instance has answered. `unchanged`: it was in that state before. `refused`: the state of
 * its binding does not allow the command. `expired`: it read the command too late.
 */
export type AnswerResult = 'done' | 'unchanged' | 'refused' | 'failed' | 'expired';

export interface AnswerEntry {
  readonly kind: 'answer';
  readonly command: string;
  readonly instance: string;
  readonly result: AnswerResult;
  readonly state?: ContainerState;
  readonly pauses?: readonly string[];
  readonly code?: string;
  readonly message?: string;
  readonly at: number;
}

/** A pause or stop that is in force until another command ends it. New processes adopt it. */
export interface OrderEntry extends Authored {
  readonly kind: 'order';
  /** The id of the command. */
  readonly id: string;
  readonly order: 'paused' | 'stopped' | 'tier-paused';
  readonly binding: FleetBinding;
  readonly tier?: number;
}

/** A binding of one instance. */
export interface InstanceBinding extends FleetBinding {
  readonly state: ContainerState;
  readonly pauses: readonly string[];
  readonly pausedTiers: readonly number[];
  readonly assignment: readonly {
    readonly topic: string;
    readonly partitions: readonly number[];
  }[];
  /** Records of the assigned partitions that the group has not committed; null if not known. */
  readonly lag: number | null;
}

export interface InstanceEntry {
  readonly kind: 'instance';
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly startedAt: number;
  /** The time of this report. */
  readonly at: number;
  readonly reportIntervalMs: number;
  readonly bindings: readonly InstanceBinding[];
}

export type FleetEntry = CommandEntry | AnswerEntry | OrderEntry | InstanceEntry;

/** A key with its entry, as it is written. Null deletes the entry. */
export type KeyedFleetEntry = readonly [key: string, entry: FleetEntry | null];

const VERSION = 1;

export const bindingText = ({ cluster, name, groupId }: FleetBinding): string =>
  JSON.stringify([cluster, name, groupId]);

export const fleetKeys = {
  instance: (name: string): string => `instance/${name}`,
  command: (id: string): string => `command/${id}`,
  answer: (command: string, instance: string): string => `answer/${command}/${instance}`,
  order: (binding: FleetBinding, tier?: number): string =>
    `order/${bindingText(binding)}/${tier ?? 'binding'}`,
} as const;

export function encodeFleetEntry(entry: FleetEntry): string {
  return JSON.stringify({ v: VERSION, ...entry });
}

/** Returns undefined for what another version, or somebody else, has written. */
export function decodeFleetEntry(value: Buffer | null): FleetEntry | undefined {
  if (value === null) return undefined;
  try {
    const { v, ...entry } = JSON.parse(value.toString('utf8')) as FleetEntry & { v?: unknown };
    return v === VERSION && isEntry(entry) ? entry : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

function isEntry(entry: FleetEntry): boolean {
  if (!Number.isFinite(entry.at)) return false;
  switch (entry.kind) {
    case 'command':
      return isText(entry.id) && isText(entry.action.name) && isBinding(entry.binding);
    case 'answer':
      return isText(entry.command) && isText(entry.instance) && isText(entry.result);
    case 'order':
      return isText(entry.id) && isText(entry.order) && isBinding(entry.binding);
    case 'instance':
      return isText(entry.name) && Array.isArray(entry.bindings) && entry.bindings.every(isBinding);
    default:
      return false;
  }
}

function isBinding({ name, cluster, groupId }: FleetBinding): boolean {
  return isText(name) && isText(cluster) && isText(groupId);
}
