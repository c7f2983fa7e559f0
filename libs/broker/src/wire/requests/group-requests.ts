import type { GroupProtocol } from '../../port/consumer.js';
import { kafkajsRequest, type ApiRequest } from './api-request.js';

export interface CoordinatorResponse {
  readonly errorCode: number;
  readonly coordinator: { readonly nodeId: number; readonly host: string; readonly port: number };
}

export interface SyncResponse {
  readonly errorCode: number;
  readonly memberAssignment: Buffer;
}

export interface CodeResponse {
  readonly errorCode: number;
}

const GROUP_COORDINATOR = 0;

export const findCoordinatorRequest = (groupId: string): ApiRequest<CoordinatorResponse> =>
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
  /**
   * The group protocol of the member; default `classic`. With `consumer` the generation is the
   * member epoch.
   */
  readonly protocol?: GroupProtocol;
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
  /**
   * The id of a static member. Every request contains it, because the broker otherwise could not
   * report that the member was fenced.
   */
  readonly groupInstanceId?: string | null;
}

export const syncRequest = (
  { groupId, generation, memberId, groupInstanceId = null }: MemberIdentity,
  plan: readonly { readonly memberId: string; readonly assignment: Buffer }[],
): ApiRequest<SyncResponse> =>
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
}: MemberIdentity): ApiRequest<CodeResponse> =>
  kafkajsRequest(
    'Heartbeat',
    { groupId, groupGenerationId: generation, memberId, groupInstanceId },
    [3],
  );

export const leaveRequest = (groupId: string, memberId: string): ApiRequest<CodeResponse> =>
  kafkajsRequest('LeaveGroup', { groupId, memberId }, [3]);
