import {
  assignorNamed,
  decodeAssignment,
  memberProtocols,
  type PreviousAssignment,
} from '../../../assignment/index.js';
import type { DriverLogger } from '../../../port/driver.js';
import type { TopicPartition } from '../../../port/record.js';
import {
  joinRequest,
  reactionTo,
  syncRequest,
  type JoinAnswer,
  type JoinParameters,
} from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-advice.js';
import type { GroupCluster } from '../group-cluster.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { planAsLeader, type LeaderPlan } from './leader-assignment.js';
import { paceAfter, type Pace } from '../retry-urgency.js';

/** What a member says of itself when it joins. */
export interface Claim {
  readonly previous: PreviousAssignment | null;
  /** What it goes on working on meanwhile. */
  readonly held: PreviousAssignment | null;
}

/** JoinGroup was answered: the group has gone on to a new generation, and we are in it. */
export interface Admission {
  readonly memberId: string;
  readonly generation: number;
  /** The assignor that the broker chose. */
  readonly protocol: string;
  readonly cooperative: boolean;
}

export interface JoinedGroup extends Admission {
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
      /** What was held is somebody else's already. */
      readonly expelled: boolean;
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
  /** Called before the sync. */
  readonly onAdmitted: (admission: Admission) => void;
}

/** The broker answers a join at the end of the rebalance time-out at the latest. */
const GRACE_MS = 5_000;

const ILLEGAL_GENERATION = 22;

/** One try to join the group and to learn our share: JoinGroup, as the leader a plan, SyncGroup. */
export class JoinRound {
  constructor(private readonly options: JoinRoundOptions) {}

  async attempt(memberId: string, claim: Claim, signal: AbortSignal): Promise<JoinOutcome> {
    const { coordinator, lane, settings } = this.options;
    const timeoutMs = settings.rebalanceTimeoutMs + GRACE_MS;
    let knownAs = memberId;
    try {
      const request = joinRequest(this.#parameters(memberId, claim));
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
    const { cluster, coordinator, lane, settings, logger, onAdmitted } = this.options;
    const { memberId, generationId: generation, groupProtocol: protocol } = answer;
    const { groupId, groupInstanceId } = settings;
    const admission = {
      memberId,
      generation,
      protocol,
      cooperative: assignorNamed(protocol).cooperative,
    };
    onAdmitted(admission);
    const lead =
      answer.leaderId === memberId
        ? await planAsLeader(cluster, answer, settings.sessionTimeoutMs / 3, logger)
        : undefined;
    const shares = answer.skipAssignment ? [] : (lead?.shares ?? []);
    const identity = { groupId, memberId, generation, groupInstanceId };
    const synced = await coordinator.request(lane, syncRequest(identity, shares), {
      timeoutMs,
      signal,
    });
    const { errorCode, memberAssignment } = synced.answer;
    if (errorCode !== 0) return this.#refused('sync', errorCode, synced.node, memberId, memberId);
    const partitions = decodeAssignment(memberAssignment ?? Buffer.alloc(0));
    return { kind: 'joined', joined: { ...admission, partitions, lead } };
  }

  #parameters(memberId: string, claim: Claim): JoinParameters {
    const { groupId, groupInstanceId, topics, assignors, sessionTimeoutMs, rebalanceTimeoutMs } =
      this.options.settings;
    const protocols = memberProtocols({ assignors, topics, ...claim });
    return { groupId, memberId, groupInstanceId, sessionTimeoutMs, rebalanceTimeoutMs, protocols };
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
        return again(given, 'at-once', error, { routine: true });
      case 'lost-rejoin-as-new':
        return again('', 'at-once', error, { routine: true, expelled: true });
      case 'rejoin':
        // A generation that went by without us may have given away what we held.
        return again(memberId, 'at-once', error, {
          routine: true,
          expelled: code === ILLEGAL_GENERATION,
        });
      case 'find-coordinator':
        coordinator.forget(node);
        return again(memberId, 'soon', error, { routine: true });
      case 'retry':
        return again(memberId, 'soon', error, { routine: true });
      case 'slow-retry':
        return again(memberId, 'slowly', error);
      default:
        return again(memberId, 'never', error);
    }
  }
}

function again(
  memberId: string,
  pace: Pace,
  error: Error,
  { routine = false, expelled = false } = {},
): JoinOutcome {
  return { kind: 'again', memberId, pace, error, routine, expelled };
}
