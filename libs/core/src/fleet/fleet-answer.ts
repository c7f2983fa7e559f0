import type { ContainerState } from '../model/states/container-state.js';
import type {
  AnswerEntry,
  AnswerResult,
  CommandEntry,
  InstanceEntry,
  OrderEntry,
} from './fleet-entry.js';

/** What one instance has done about a command. `no-answer`: nothing is known. */
export interface InstanceAnswer {
  readonly instance: string;
  readonly result: AnswerResult | 'no-answer';
  /** The state of the binding after the command. */
  readonly state?: ContainerState;
  readonly pauses?: readonly string[];
  readonly code?: string;
  readonly message?: string;
  /** Time from the command to the answer, by the clocks of both instances. */
  readonly tookMs?: number;
  /** The last report of an instance that has not answered. */
  readonly reportedAt?: number;
}

export interface FleetAnswer {
  readonly id: string;
  /** Instances that read the command after this time do not obey it. */
  readonly validUntil: number;
  /** True if every instance has done it. A decision is complete if one instance has done it. */
  readonly isComplete: boolean;
  /** True if an instance may still answer. */
  readonly isAwaited: boolean;
  readonly instances: readonly InstanceAnswer[];
}

/** All instances, and the pauses and stops that are in force. */
export interface FleetState {
  /** `process`: no control topic is configured, so other processes are not known. */
  readonly scope: 'process' | 'fleet';
  readonly instances: readonly (InstanceEntry & { readonly isSilent: boolean })[];
  readonly orders: readonly OrderEntry[];
}

/** Puts together who was expected to answer, and who has answered. */
export function commandAnswer(
  { action, at, id, validMs }: CommandEntry,
  expected: ReadonlyMap<string, Pick<InstanceEntry, 'at'>>,
  answers: ReadonlyMap<string, AnswerEntry>,
): FleetAnswer {
  const names = [...new Set([...expected.keys(), ...answers.keys()])].toSorted();
  const instances = names.map((instance): InstanceAnswer => {
    const answer = answers.get(instance);
    if (!answer)
      return { instance, result: 'no-answer', reportedAt: expected.get(instance)?.at ?? at };
    const { code, message, pauses, result, state } = answer;
    return {
      ...{ instance, result, tookMs: Math.max(0, answer.at - at) },
      ...(state !== undefined && { state }),
      ...(pauses !== undefined && { pauses }),
      ...(code !== undefined && { code }),
      ...(message !== undefined && { message }),
    };
  });
  const isDone = ({ result }: InstanceAnswer): boolean =>
    result === 'done' || result === 'unchanged';
  return {
    id,
    validUntil: at + validMs,
    isComplete: action.name === 'decide' ? instances.some(isDone) : instances.every(isDone),
    isAwaited: instances.some(({ result }) => result === 'no-answer'),
    instances,
  };
}
