import {
  consumerHeartbeatRequest,
  fetchRequest,
  findCoordinatorRequest,
  heartbeatRequest,
  joinRequest,
  leaveRequest,
  listOffsetsRequest,
  metadataRequest,
  offsetCommitRequest,
  offsetDeleteRequest,
  offsetFetchRequest,
  produceRequest,
  syncRequest,
  type ApiRequest,
} from '../index.js';
import { apiVersionsRequest } from '../requests/api-versions-request.js';

const THROTTLE_MS = 7_000;

const member = { groupId: 'group', memberId: 'me', generation: 1, groupInstanceId: null };
const claim = { topics: ['orders'], rebalanceTimeoutMs: 1, owned: [] };
const join = { ...member, sessionTimeoutMs: 1, rebalanceTimeoutMs: 1, protocols: [] };
const fetch = {
  maxWaitMs: 1,
  minBytes: 1,
  maxBytes: 1,
  isolation: 'read_committed',
  partitions: [],
} as const;

/** The position of the throttle time in the response. */
const requests: readonly (readonly [name: string, at: number, request: ApiRequest<unknown>])[] = [
  ['Metadata', 0, metadataRequest(['orders'])],
  ['FindCoordinator', 0, findCoordinatorRequest('group')],
  ['JoinGroup', 0, joinRequest(join)],
  ['SyncGroup', 0, syncRequest(member, [])],
  ['Heartbeat', 0, heartbeatRequest(member)],
  ['ConsumerGroupHeartbeat', 0, consumerHeartbeatRequest(member, 1, claim)],
  ['LeaveGroup', 0, leaveRequest('group', 'me')],
  ['OffsetCommit', 0, offsetCommitRequest(member, [])],
  ['OffsetCommit 9', 0, offsetCommitRequest({ ...member, protocol: 'consumer' }, [])],
  ['OffsetFetch', 0, offsetFetchRequest('group', [])],
  ['ListOffsets', 0, listOffsetsRequest('read_committed', [])],
  ['Fetch', 0, fetchRequest(fetch)],
  ['OffsetDelete', 2, offsetDeleteRequest('group', [])],
];

describe('throttle time', () => {
  it.each(requests)('is read from the response to %s', (_, at, request) => {
    const body = Buffer.alloc(12);
    body.writeInt32BE(THROTTLE_MS, at);
    const version = request.versions.at(-1)!;
    expect(request.throttleTimeMs?.(body, version)).toBe(THROTTLE_MS);
  });

  it('is read at the end of the response to Produce, which is decoded only once', () => {
    const body = Buffer.alloc(64, 0xff);
    body.writeInt32BE(THROTTLE_MS, 60);
    expect(produceRequest(1, []).throttleTimeMs?.(body, 8)).toBe(THROTTLE_MS);
  });

  it.each([2, 3] as const)(
    'is not read from the first response, which has an error code at that position: ApiVersions %i',
    (version) => {
      expect(apiVersionsRequest(version).throttleTimeMs?.(Buffer.alloc(2), version)).toBe(0);
    },
  );
});
