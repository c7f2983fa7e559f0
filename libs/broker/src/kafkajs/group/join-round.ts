import {
  assignorsInOrder,
  decodeAssignment,
  encodeSubscription,
  NO_GENERATION,
  type PreviousAssignment,
} from '../../assignment/index.js';
import type { DriverLogger } from '../../port/driver.js';
import type { TopicPartition } from '../../port/record.js';
import {
  joinRequest,
  reactionTo,
  syncRequest,
  type JoinAnswer,
  type JoinParameters,
} from '../wire/index.js';
import { groupError, type GroupSettings } from './group-advice.js';
import type { GroupCluster } from './group-cluster.js';
import type { GroupCoordinator } from './group-coordinator.js';
import { planAsLeader, type LeaderPlan } from './leader-plan.js';
import { paceAfter, type Pace } from './pace.js';

export interface JoinedGroup {
  readonly memberId: string;
  readonly generation: number;
  readonly partitions: readonly TopicPartition[];
  /** What we planned, where we lead. */
  readonly lead: LeaderPlan | undefined;
}

export type JoinOutcome =
  | { readonly kind: 'joined'; readonly joined: JoinedGroup }
  | {
      readonly kind: 'again';
      readonly memberId: string;
      readonly pace: Pace;
      readonly error: Error;
      /** Part of a healthy group's life: not worth a status unless it lasts. */
      readonly routine: boolean;
    };

export interface JoinRoundOptions {
  readonly cluster: GroupCluster;
  readonly coordinator: GroupCoordinator;
  readonly lane: string;
  readonly settings: GroupSettings & {
    readonly topics: readonly string[];
    readonly rebalanceTimeoutMs: number;
  };
  readonly logger: DriverLogger;
}

/** The broker answers a join at the end of the rebalance time-out at the latest. */
const GRACE_MS = 5_000;

/** One try to join the group and to learn our share: JoinGroup, as the leader a plan, SyncGroup. */
export class JoinRound {
  constructor(private readonly options: JoinRoundOptions) {}

  async attempt(
    memberId: string,
    previous: PreviousAssignment | null,
    signal: AbortSignal,
  ): Promise<JoinOutcome> {
    const { coordinator, lane, settings } = this.options;
    const timeoutMs = settings.rebalanceTimeoutMs + GRACE_MS;
    let knownAs = memberId;
    try {
      const request = joinRequest(this.#parameters(memberId, previous));
      const { node, answer } = await coordinator.request(lane, request, { timeoutMs, signal });
      if (answer.errorCode !== 0)
        return this.#refused('join', answer.errorCode, node, memberId, answer.memberId);
      knownAs = answer.memberId;
      return await this.#synchronise(answer, timeoutMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      return again(knownAs, paceAfter(error), error as Error);
    }
  }

  async #synchronise(
    answer: JoinAnswer,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<JoinOutcome> {
    const { cluster, coordinator, lane, settings, logger } = this.options;
    const { memberId, generationId: generation } = answer;
    const lead =
      answer.leaderId === memberId
        ? await planAsLeader(cluster, answer, settings.sessionTimeoutMs / 3, logger)
        : undefined;
    const identity = { groupId: settings.groupId, memberId, generation };
    const synced = await coordinator.request(lane, syncRequest(identity, lead?.shares ?? []), {
      timeoutMs,
      signal,
    });
    const { errorCode, memberAssignment } = synced.answer;
    if (errorCode !== 0) return this.#refused('sync', errorCode, synced.node, memberId, memberId);
    const partitions = decodeAssignment(memberAssignment ?? Buffer.alloc(0));
    return { kind: 'joined', joined: { memberId, generation, partitions, lead } };
  }

  #parameters(memberId: string, previous: PreviousAssignment | null): JoinParameters {
    const { groupId, topics, assignors, sessionTimeoutMs, rebalanceTimeoutMs } =
      this.options.settings;
    const protocols = assignorsInOrder(assignors).map((assignor) => ({
      name: assignor.name,
      metadata: encodeSubscription({
        topics,
        userData: assignor.userData(previous),
        // Eager: all was handed back before.
        owned: [],
        generation: NO_GENERATION,
        rack: null,
      }),
    }));
    return { groupId, memberId, sessionTimeoutMs, rebalanceTimeoutMs, protocols };
  }

  #refused(
    place: 'join' | 'sync',
    code: number,
    node: number,
    memberId: string,
    given: string,
  ): JoinOutcome {
    const { coordinator, settings } = this.options;
    const error = groupError(code, `the ${place} was not accepted`, settings);
    switch (reactionTo(place, code)) {
      case 'adopt-member-id':
        return again(given, 'at-once', error, true);
      case 'lost-rejoin-as-new':
        return again('', 'at-once', error, true);
      case 'rejoin':
        return again(memberId, 'at-once', error, true);
      case 'find-coordinator':
        coordinator.forget(node);
        return again(memberId, 'soon', error, true);
      case 'retry':
        return again(memberId, 'soon', error, true);
      case 'slow-retry':
        return again(memberId, 'slowly', error);
      default:
        return again(memberId, 'never', error);
    }
  }
}

function again(memberId: string, pace: Pace, error: Error, routine = false): JoinOutcome {
  return { kind: 'again', memberId, pace, error, routine };
}
