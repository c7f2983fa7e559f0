import type { ClassicMember, JoinResponse } from './classic-member.js';

export interface GroupGeneration {
  readonly generation: number;
  readonly protocol: string | null;
  readonly members: ReadonlyMap<string, ClassicMember>;
}

/** Creates the response to a join; only the leader gets the list of members. */
export function joinResponse(
  { generation, protocol, members }: GroupGeneration,
  member: ClassicMember,
  leaderId = '',
): JoinResponse {
  const chosen = protocol ?? '';
  const listed = member.id === leaderId ? [...members.values()] : [];
  return {
    generation,
    memberId: member.id,
    leaderId,
    protocol: chosen,
    members: listed.map((each) => ({
      memberId: each.id,
      instanceId: each.instanceId,
      metadata: each.metadata(chosen),
    })),
    skipAssignment: false,
  };
}
