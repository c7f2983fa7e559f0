import type { GroupMember, JoinAnswer } from './group-member.js';

export interface GeneratedGroup {
  readonly generation: number;
  readonly protocol: string | null;
  readonly members: ReadonlyMap<string, GroupMember>;
}

/** What this member is told of the group's generation; only the leader is told who the others are. */
export function joinAnswer(
  { generation, protocol, members }: GeneratedGroup,
  member: GroupMember,
  leaderId = '',
): JoinAnswer {
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
