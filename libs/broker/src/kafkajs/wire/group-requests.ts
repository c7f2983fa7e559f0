import { kafkajsRequest, type ApiRequest } from './api-request.js';

export interface Coordinator {
  readonly errorCode: number;
  readonly coordinator: { readonly nodeId: number; readonly host: string; readonly port: number };
}

export interface JoinAnswer {
  readonly errorCode: number;
  readonly generationId: number;
  readonly groupProtocol: string;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly memberMetadata: Buffer;
  }[];
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

export interface JoinParameters {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly memberId: string;
  readonly protocols: readonly { readonly name: string; readonly metadata: Buffer }[];
}

export const joinRequest = (join: JoinParameters): ApiRequest<JoinAnswer> =>
  kafkajsRequest(
    'JoinGroup',
    {
      groupId: join.groupId,
      sessionTimeout: join.sessionTimeoutMs,
      rebalanceTimeout: join.rebalanceTimeoutMs,
      memberId: join.memberId,
      protocolType: 'consumer',
      groupProtocols: join.protocols,
    },
    [5],
  );

export interface MemberIdentity {
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
}

export const syncRequest = (
  { groupId, generation, memberId }: MemberIdentity,
  plan: readonly { readonly memberId: string; readonly assignment: Buffer }[],
): ApiRequest<SyncAnswer> =>
  kafkajsRequest(
    'SyncGroup',
    {
      groupId,
      generationId: generation,
      memberId,
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
}: MemberIdentity): ApiRequest<CodeAnswer> =>
  kafkajsRequest(
    'Heartbeat',
    { groupId, groupGenerationId: generation, memberId, groupInstanceId: null },
    [3],
  );

export const leaveRequest = (groupId: string, memberId: string): ApiRequest<CodeAnswer> =>
  kafkajsRequest('LeaveGroup', { groupId, memberId }, [3]);
