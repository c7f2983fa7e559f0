import { defineRequest, type ApiRequest } from './api-request.js';
import type { Reader } from './reader.js';
import type { Writer } from './writer.js';

export interface JoinParameters {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly protocols: readonly { readonly name: string; readonly metadata: Buffer }[];
}

export interface JoinResponse {
  readonly errorCode: number;
  readonly generationId: number;
  readonly groupProtocol: string;
  readonly leaderId: string;
  /** True for a static leader that rejoined: the group keeps its current assignment. */
  readonly skipAssignment?: boolean;
  readonly memberId: string;
  /** The members of the group; only the leader receives them. */
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly memberMetadata: Buffer;
  }[];
}

const PROTOCOL_TYPE = 'consumer';
const FLEXIBLE_FROM = 6;

/**
 * From version 9 on, a static leader that rejoins learns that it is the leader (KIP-814). Version 5
 * is for brokers before 3.2: after such a rejoin, no member watches the topics until the next
 * rebalance.
 */
export function joinRequest(join: JoinParameters): ApiRequest<JoinResponse> {
  return defineRequest({
    apiKey: 11,
    apiName: 'JoinGroup',
    versions: [5, 9],
    flexibleFrom: FLEXIBLE_FROM,
    write: (writer, version) => (version < FLEXIBLE_FROM ? writePlain : writeCompact)(writer, join),
    read: (reader, version) => (version < FLEXIBLE_FROM ? readPlain : readCompact)(reader),
  });
}

function writePlain(writer: Writer, join: JoinParameters): void {
  writer.string(join.groupId).int32(join.sessionTimeoutMs).int32(join.rebalanceTimeoutMs);
  writer.string(join.memberId).nullableString(join.groupInstanceId).string(PROTOCOL_TYPE);
  writer.array(join.protocols, ({ name, metadata }) => writer.string(name).bytes(metadata));
}

function writeCompact(writer: Writer, join: JoinParameters): void {
  writer.compactString(join.groupId).int32(join.sessionTimeoutMs).int32(join.rebalanceTimeoutMs);
  writer.compactString(join.memberId).compactNullableString(join.groupInstanceId);
  writer.compactString(PROTOCOL_TYPE);
  writer.compactArray(join.protocols, ({ name, metadata }) => {
    writer.compactString(name);
    writer
      .unsignedVarint(metadata.length + 1)
      .raw(metadata)
      .noTags();
  });
  writer.compactNullableString(null).noTags();
}

function readPlain(reader: Reader): JoinResponse {
  reader.int32();
  return {
    errorCode: reader.int16(),
    generationId: reader.int32(),
    groupProtocol: reader.nullableString() ?? '',
    leaderId: reader.string(),
    memberId: reader.string(),
    members: reader.array(() => ({
      memberId: reader.string(),
      groupInstanceId: reader.nullableString(),
      memberMetadata: reader.nullableBytes() ?? Buffer.alloc(0),
    })),
  };
}

function readCompact(reader: Reader): JoinResponse {
  reader.int32();
  const errorCode = reader.int16();
  const generationId = reader.int32();
  reader.compactNullableString();
  const groupProtocol = reader.compactNullableString() ?? '';
  const leaderId = reader.compactString();
  const skipAssignment = reader.boolean();
  const memberId = reader.compactString();
  const members = reader.compactArray(() => {
    const member = {
      memberId: reader.compactString(),
      groupInstanceId: reader.compactNullableString(),
      memberMetadata: reader.compactNullableBytes() ?? Buffer.alloc(0),
    };
    reader.skipTags();
    return member;
  });
  reader.skipTags();
  return { errorCode, generationId, groupProtocol, leaderId, skipAssignment, memberId, members };
}
