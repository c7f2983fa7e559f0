import { MalformedResponseError } from '../../port/errors.js';
import type { AssignmentPlan, AssignorMember } from '../assignor.js';
import {
  decodeSubscription,
  encodeAssignment,
  NO_GENERATION,
  type Subscription,
} from './consumer-protocol.js';

/** A member as JoinGroup lists it to the leader. */
export interface JoinedMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly metadata: Buffer;
}

export interface UnreadableMember {
  readonly memberId: string;
  readonly error: MalformedResponseError;
}

export interface GroupMembers {
  readonly members: readonly AssignorMember[];
  /**
   * Members with invalid metadata; log a warning for them. They are in `members` too, without
   * topics, so that one broken member does not stop the others.
   */
  readonly unreadable: readonly UnreadableMember[];
}

const EMPTY_SUBSCRIPTION: Subscription = {
  topics: [],
  userData: null,
  owned: [],
  generation: NO_GENERATION,
  rack: null,
};

export function readGroupMembers(joined: readonly JoinedMember[]): GroupMembers {
  const unreadable: UnreadableMember[] = [];
  const members = joined.map(({ memberId, instanceId, metadata }): AssignorMember => {
    try {
      return { memberId, instanceId, ...decodeSubscription(metadata) };
    } catch (error) {
      if (!(error instanceof MalformedResponseError)) throw error;
      unreadable.push({ memberId, error });
      return { memberId, instanceId, ...EMPTY_SUBSCRIPTION };
    }
  });
  return { members, unreadable };
}

/** Encodes the leader's plan for SyncGroup. */
export function encodePlan(plan: AssignmentPlan): ReadonlyMap<string, Buffer> {
  return new Map([...plan].map(([memberId, share]) => [memberId, encodeAssignment(share)]));
}
