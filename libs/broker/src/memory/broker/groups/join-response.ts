import type { ClassicMember, JoinResponse } from './classic-member.js';

export interface GroupGeneration {
  readonly generation: number;
  readonly protocol: string | null;
  readonly members: ReadonlyMap<string, ClassicMember>;
}

/** What this member is told of the group's generation; only the leader is told who the others are. */
export function joinResponse(
  { generation, protocol, members }: GroupGeneration,
  member: ClassicMember,
  leaderId = '',
): JoinResponse {
  const chosen = protocol ?? '';
  const told = member.id === leaderId ? [...members.values()] : [];
  return {
    generation,
    memberId: member.id,
    leaderId,
    protocol: chosen,
    members: told.map((each) => ({
      memberId: each.id,
      instanceId: each.instanceId,
      metadata: each.metadata(chosen),
    })),
    skipAssignment: false,
  };
}
