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
  type JoinResponse,
  type JoinParameters,
  type ClusterClient,
} from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { assignAsLeader, type LeaderAssignment } from './leader-assignment.js';
import { retryUrgencyAfter, type RetryUrgency } from '../retry-urgency.js';

/** State that a member reports when it joins. */
export interface MemberClaim {
  readonly previous: PreviousAssignment | null;
  /** Partitions that the member keeps reading during the join. */
  readonly held: PreviousAssignment | null;
}

/** The successful response to JoinGroup: the member belongs to the new generation. */
export interface AcceptedJoin {
  readonly memberId: string;
  readonly generation: number;
  /** Name of the assignor that the broker chose. */
  readonly protocol: string;
  readonly cooperative: boolean;
  /** Time of the monotonic clock at which the request was sent that the group has answered last. */
  readonly sentAt: number;
}

export interface JoinedGroup extends AcceptedJoin {
  readonly partitions: readonly TopicPartition[];
  /** The assignment that this member computed if it is the leader. */
  readonly leaderAssignment: LeaderAssignment | undefined;
}

export type JoinOutcome =
  | { readonly kind: 'joined'; readonly joined: JoinedGroup }
  | {
      readonly kind: 'again';
      readonly memberId: string;
      readonly urgency: RetryUrgency;
      readonly error: Error;
      /**
       * True for errors that also occur in a healthy group. Such an error is reported only if it
       * persists.
       */
      readonly isExpected: boolean;
      /** True if the owned partitions may belong to other members already. */
      readonly isExpelled: boolean;
    };

export interface JoinAttemptOptions {
  readonly cluster: ClusterClient;
  readonly coordinator: GroupCoordinator;
  readonly channel: string;
  readonly settings: GroupSettings & {
    readonly topics: readonly string[];
    readonly rebalanceTimeoutMs: number;
  };
  readonly logger: DriverLogger;
  /** Called before SyncGroup. */
  readonly onJoinAccepted: (accepted: AcceptedJoin) => void;
}

/**
 * The time added to the rebalance timeout, because the broker may answer JoinGroup only at the end
 * of that timeout.
 */
const GRACE_MS = 5_000;

const ILLEGAL_GENERATION = 22;

/**
 * An attempt to join the group: JoinGroup, the assignment if this member is the leader, and
 * SyncGroup.
 */
export class JoinAttempt {
  constructor(private readonly options: JoinAttemptOptions) {}

  async run(memberId: string, claim: MemberClaim, signal: AbortSignal): Promise<JoinOutcome> {
    const { coordinator, channel, settings } = this.options;
    const timeoutMs = settings.rebalanceTimeoutMs + GRACE_MS;
    const sentAt = coordinator.runtime.monotonic();
    let currentMemberId = memberId;
    try {
      const request = joinRequest(this.#parameters(memberId, claim));
      const { node, answer } = await coordinator.request(channel, request, { timeoutMs, signal });
      if (answer.errorCode !== 0)
        return this.#onRefused('join', answer.errorCode, node, memberId, answer.memberId);
      currentMemberId = answer.memberId;
      return await this.#synchronise(answer, { sentAt, timeoutMs, signal });
    } catch (error) {
      signal.throwIfAborted();
      return retryJoin(currentMemberId, retryUrgencyAfter(error), error as Error);
    }
  }

  async #synchronise(
    answer: JoinResponse,
    {
      sentAt,
      timeoutMs,
      signal,
    }: { readonly sentAt: number; readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<JoinOutcome> {
    const { cluster, coordinator, channel, settings, logger, onJoinAccepted } = this.options;
    const { memberId, generationId: generation, groupProtocol: protocol } = answer;
    const { groupId, groupInstanceId } = settings;
    const accepted = {
      memberId,
      generation,
      protocol,
      cooperative: assignorNamed(protocol).cooperative,
      sentAt,
    };
    onJoinAccepted(accepted);
    const leaderAssignment =
      answer.leaderId === memberId
        ? await assignAsLeader(cluster, answer, settings.sessionTimeoutMs / 3, logger)
        : undefined;
    const shares = answer.skipAssignment ? [] : (leaderAssignment?.shares ?? []);
    const identity = { groupId, memberId, generation, groupInstanceId };
    const syncSentAt = coordinator.runtime.monotonic();
    const synced = await coordinator.request(channel, syncRequest(identity, shares), {
      timeoutMs,
      signal,
    });
    const { errorCode, memberAssignment } = synced.answer;
    if (errorCode !== 0) return this.#onRefused('sync', errorCode, synced.node, memberId, memberId);
    const partitions = decodeAssignment(memberAssignment ?? Buffer.alloc(0));
    return {
      kind: 'joined',
      joined: { ...accepted, sentAt: syncSentAt, partitions, leaderAssignment },
    };
  }

  #parameters(memberId: string, claim: MemberClaim): JoinParameters {
    const { groupId, groupInstanceId, topics, assignors, sessionTimeoutMs, rebalanceTimeoutMs } =
      this.options.settings;
    const protocols = memberProtocols({ assignors, topics, ...claim });
    return { groupId, memberId, groupInstanceId, sessionTimeoutMs, rebalanceTimeoutMs, protocols };
  }

  #onRefused(
    step: 'join' | 'sync',
    code: number,
    node: number,
    memberId: string,
    assignedMemberId: string,
  ): JoinOutcome {
    const { coordinator, settings } = this.options;
    const error = groupError(code, `the ${step} was not accepted`, settings);
    switch (reactionTo(step, code)) {
      case 'adopt-member-id':
        return retryJoin(assignedMemberId, 'at-once', error, { isExpected: true });
      case 'lost-rejoin-as-new':
        return retryJoin('', 'at-once', error, { isExpected: true, isExpelled: true });
      case 'rejoin':
        // If a generation started without this member, its partitions may belong to other members.
        return retryJoin(memberId, 'at-once', error, {
          isExpected: true,
          isExpelled: code === ILLEGAL_GENERATION,
        });
      case 'find-coordinator':
        coordinator.forget(node);
        return retryJoin(memberId, 'soon', error, { isExpected: true });
      case 'retry':
        return retryJoin(memberId, 'soon', error, { isExpected: true });
      case 'slow-retry':
        return retryJoin(memberId, 'slowly', error);
      default:
        return retryJoin(memberId, 'never', error);
    }
  }
}

function retryJoin(
  memberId: string,
  urgency: RetryUrgency,
  error: Error,
  { isExpected = false, isExpelled = false } = {},
): JoinOutcome {
  return { kind: 'again', memberId, urgency, error, isExpected, isExpelled };
}
