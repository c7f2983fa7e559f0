import { AuthorizationError, ClosedError, ConnectionError } from '../../../port/errors.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import { GroupCoordinator } from '../group-coordinator.js';
import { coordinatedBy, orders } from '../member-under-test.spec-support.js';
import { type MemberSnapshot, notAMember } from '../membership.js';
import { CommittedOffsets } from './committed-offsets.js';
import { ScriptedCluster } from '../scripted-cluster.spec-support.js';

const offset = (partition: number, code = 0, committed: number | null = 5) => ({
  topic: 'orders',
  partition,
  code,
  committed: committed === null ? null : { offset: committed, leaderEpoch: -1, metadata: null },
});

const offsetsResponse = (...offsets: ReturnType<typeof offset>[]) => ({ code: 0, offsets });

describe('CommittedOffsets.fetch', () => {
  const runtime = new VirtualRuntime();
  let cluster: ScriptedCluster;
  let coordinator: GroupCoordinator;
  let lookup: CommittedOffsets;
  let member: MemberSnapshot;

  beforeEach(() => {
    cluster = new ScriptedCluster(runtime).always('GroupCoordinator', coordinatedBy(1));
    coordinator = new GroupCoordinator({ cluster, groupId: 'group', sessionId: 's1' });
    member = notAMember('group');
    lookup = new CommittedOffsets(coordinator, () => member);
  });
  afterEach(() => {
    cluster.verify();
    expect(runtime.pendingTimers).toBe(0);
  });

  it('returns the committed offset of each partition, or that it has none', async () => {
    cluster.once('OffsetFetch', offsetsResponse(offset(0), offset(1, 0, null)));
    expect(await lookup.fetch(orders(0, 1))).toEqual([offset(0), offset(1, 0, null)]);
  });

  it('sends no request if no partitions are given', async () => {
    expect(await lookup.fetch([])).toEqual([]);
  });

  it.each([3, 14, 88, 113])(
    'retries a partition that failed with code %i (KAFKA-17279)',
    async (code) => {
      cluster.once(
        'OffsetFetch',
        offsetsResponse(offset(0), offset(1, code, null)),
        offsetsResponse(offset(1)),
      );
      const fetched = lookup.fetch(orders(0, 1));
      await runtime.advance(200);
      expect(await fetched).toEqual([offset(0), offset(1)]);
    },
  );

  it.each([
    ['a coordinator that moved', { code: 16, offsets: [] }, 2],
    ['a coordinator that is loading', { code: 14, offsets: [] }, 1],
    ['a broken connection', new ConnectionError('gone'), 2],
    ['a response that leaves the partition out', offsetsResponse(), 1],
  ])('retries after %s', async (_, answer, lookups) => {
    cluster.once('OffsetFetch', answer, offsetsResponse(offset(0)));
    const fetched = lookup.fetch(orders(0));
    await runtime.advance(200);
    expect(await fetched).toEqual([offset(0)]);
    expect(cluster.requests('GroupCoordinator')).toHaveLength(lookups);
  });

  it('sends its member id and its current epoch (KIP-848)', async () => {
    member = { ...member, memberId: 'me', generation: 5, protocol: 'consumer' };
    cluster.once('OffsetFetch', { code: 113, offsets: [] }, offsetsResponse(offset(0)));
    const fetched = lookup.fetch(orders(0));
    await runtime.settle();
    member = { ...member, generation: 6 };
    await runtime.advance(200);
    expect(await fetched).toEqual([offset(0)]);
    expect(cluster.requests('OffsetFetch')).toMatchObject([
      { memberId: 'me', generation: 5 },
      { memberId: 'me', generation: 6 },
    ]);
  });

  it('rejects if the broker refuses the request, instead of returning "none committed"', async () => {
    cluster.once('OffsetFetch', { code: 30, offsets: [offset(0, 0, null)] });
    await expect(lookup.fetch(orders(0))).rejects.toThrow(AuthorizationError);
  });

  it('reports an expected error only if it persists', async () => {
    const reported: Error[] = [];
    const onError = (error: Error): void => void reported.push(error);
    cluster.always('OffsetFetch', offsetsResponse(offset(0, 88, null)));
    const fetched = lookup.fetch(orders(0), { onError });
    await runtime.advance(300);
    expect(reported).toEqual([]);
    await runtime.advance(5_000);
    expect(reported[0]).toMatchObject({ brokerCode: 88, retriable: true });
    cluster.always('OffsetFetch', offsetsResponse(offset(0)));
    await runtime.advance(2_000);
    expect(await fetched).toEqual([offset(0)]);
  });

  it('reports at once an error if the coordinator cannot be reached', async () => {
    const reported: Error[] = [];
    cluster.once('OffsetFetch', new ConnectionError('gone'), offsetsResponse(offset(0)));
    const fetched = lookup.fetch(orders(0), { onError: (error) => reported.push(error) });
    await runtime.advance(200);
    expect(await fetched).toEqual([offset(0)]);
    expect(reported).toEqual([expect.any(ConnectionError)]);
  });

  it('rejects when its signal aborts', async () => {
    cluster.always('OffsetFetch', offsetsResponse(offset(0, 88, null)));
    const control = new AbortController();
    const fetched = lookup.fetch(orders(0), { signal: control.signal });
    fetched.catch(() => undefined);
    await runtime.advance(5_000);
    control.abort(new Error('not ours any more'));
    await expect(fetched).rejects.toThrow('not ours any more');
  });

  it('rejects when the session closes', async () => {
    cluster.always('OffsetFetch', offsetsResponse(offset(0, 88, null)));
    const fetched = lookup.fetch(orders(0));
    fetched.catch(() => undefined);
    await runtime.advance(5_000);
    coordinator.close();
    await expect(fetched).rejects.toThrow(ClosedError);
  });
});
