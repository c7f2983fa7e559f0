import type { GroupProtocol } from '../../port/consumer.js';
import { kafkajsRequest, type ApiRequest } from './api-request.js';

export interface Coordinator {
  readonly errorCode: number;
  readonly coordinator: { readonly nodeId: number; readonly host: string; readonly port: number };
}

export interface SyncAnswer {
  readonly errorCode: number;
  readonly memberAssignment: Buffer;
}

export interface CodeAnswer {
  readonly errorCode: number;
}

const GROUP_COORDINATOR = 0;

export const findCoordinatorRequest = (groupId: string): ApiRequest<Coordinator> =>
  kafkajsRequest(
    'GroupCoordinator',
    {
      coordinatorKey: groupId,
      coordinatorType: GROUP_COORDINATOR,
      groupId,
    },
    [2],
  );

export interface MemberIdentity {
  /** By which protocol we are a member; default `classic`. Then the generation is the member epoch. */
  readonly protocol?: GroupProtocol;
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
  /** Of a static member. It must stand in every request: without it the broker cannot tell who was fenced. */
  readonly groupInstanceId?: string | null;
}

export const syncRequest = (
  { groupId, generation, memberId, groupInstanceId = null }: MemberIdentity,
  plan: readonly { readonly memberId: string; readonly assignment: Buffer }[],
): ApiRequest<SyncAnswer> =>
  kafkajsRequest(
    'SyncGroup',
    {
      groupId,
      generationId: generation,
      memberId,
      groupInstanceId,
      groupAssignment: plan.map((entry) => ({
        memberId: entry.memberId,
        memberAssignment: entry.assignment,
      })),
    },
    [3],
  );

export const heartbeatRequest = ({
  groupId,
  generation,
  memberId,
  groupInstanceId = null,
}: MemberIdentity): ApiRequest<CodeAnswer> =>
  kafkajsRequest(
    'Heartbeat',
    { groupId, groupGenerationId: generation, memberId, groupInstanceId },
    [3],
  );

export const leaveRequest = (groupId: string, memberId: string): ApiRequest<CodeAnswer> =>
  kafkajsRequest('LeaveGroup', { groupId, memberId }, [3]);
