import {
  CommitRefusedError,
  ConnectionError,
  FencedError,
  OffsetMetadataTooLargeError,
  RequestTimeoutError,
  type CommitError,
} from '../../../port/errors.js';
import { Deferred, VirtualRuntime } from '../../../runtime/index.js';
import { brokerCodes, reactionTo } from '../../../wire/index.js';
import { CommitCall } from './commit-call.js';
import { GroupCoordinator } from '../group-coordinator.js';
import { coordinatedBy } from '../member-under-test.spec-support.js';
import { type MemberSnapshot, isSameGeneration } from '../membership.js';
import { OffsetCommitter } from './offset-committer.js';
import { ScriptedCluster, type SentRequest } from '../scripted-cluster.spec-support.js';

const at = (partition: number, offset: number) => ({ topic: 'orders', partition, offset });

/** Answers each partition with its code, 0 where none is named. */
const answering =
  (codes: Readonly<Record<number, number>> = {}) =>
  ({ commits }: SentRequest) =>
    commits.map(({ topic, partition }) => ({ topic, partition, code: codes[partition] ?? 0 }));

class Scene {
  readonly runtime = new VirtualRuntime();
  readonly cluster = new ScriptedCluster(this.runtime);
  readonly coordinator = new GroupCoordinator({
    cluster: this.cluster,
    groupId: 'group',
    sessionId: 's1',
  });
  readonly expelled: string[] = [];
  readonly notOwned = new Set<number>();
  snapshot: MemberSnapshot = {
    groupId: 'group',
    memberId: 'me',
    generation: 1,
    groupInstanceId: null,
    protocol: 'classic',
  };
  hasGoneOn = false;
  owns = (since: MemberSnapshot): boolean => isSameGeneration(since, this.snapshot);
  settled = Promise.resolve();
  readonly committer = new OffsetCommitter({
    coordinator: this.coordinator,
    isOwned: ({ partition }) => !this.notOwned.has(partition),
    membership: () => ({
      snapshot: this.snapshot,
      owns: (_, since) => this.owns(since),
      mayHaveNewGeneration: () => this.hasGoneOn,
      whenSettled: () => this.settled,
      reportExpelled: ({ memberId, generation }, code) =>
        void this.expelled.push(`${memberId} ${generation} ${code}`),
    }),
  });

  constructor() {
    this.cluster.always('GroupCoordinator', coordinatedBy(1));
  }

  get requests(): string[] {
    return this.cluster
      .requests('OffsetCommit')
      .map(({ commits }) => commits.map((each) => `${each.partition}:${each.offset}`).join(' '));
  }

  /** The commit's outcome: `stored`, or its error. */
  commit(...offsets: readonly ReturnType<typeof at>[]): Promise<'stored' | CommitError> {
    return this.committer.commit(offsets).then(
      () => 'stored' as const,
      (error: CommitError) => error,
    );
  }

  /** A commit that waits for its answer, which the test gives. */
  async commitUnderWay(offset: number) {
    const gate = new Deferred();
    this.cluster.once('OffsetCommit', async (sent) => {
      await gate.promise;
      return answering()(sent);
    });
    const done = this.commit(at(0, offset));
    await this.runtime.settle();
    return { done, answer: () => gate.resolve(), lose: (error: Error) => gate.reject(error) };
  }
}

describe('committing', () => {
  let scene: Scene;
  beforeEach(() => (scene = new Scene()));
  afterEach(() => {
    scene.cluster.verify();
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it('sends offset, epoch and metadata as this member of this generation, never anonymously (KAFKA-14201)', async () => {
    scene.cluster.once('OffsetCommit', answering());
    const full = { ...at(1, 7), leaderEpoch: 3, metadata: 'done' };
    await scene.committer.commit([full]);
    expect(scene.cluster.requests('OffsetCommit')).toMatchObject([
      { memberId: 'me', generation: 1, lane: 'group:s1', commits: [full] },
    ]);
  });

  it('asks nobody to store nothing', async () => {
    await scene.committer.commit([]);
    expect(scene.requests).toEqual([]);
  });

  it('has one request under way; what comes meanwhile joins the next, the newest of each partition (franz-go 416e8269)', async () => {
    const first = await scene.commitUnderWay(1);
    const later = [at(0, 2), at(1, 5), at(0, 3)].map((offset) => scene.commit(offset));
    await scene.runtime.advance(1_000);
    expect(scene.requests).toEqual(['0:1']);
    scene.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await Promise.all([first.done, ...later])).toEqual(Array(4).fill('markStored'));
    expect(scene.requests).toEqual(['0:1', '0:3 1:5']);
  });

  it('sends together what is committed in one turn', async () => {
    scene.cluster.once('OffsetCommit', answering());
    await Promise.all([0, 1, 2].map((partition) => scene.commit(at(partition, 1))));
    expect(scene.requests).toEqual(['0:1 1:1 2:1']);
  });

  it.each([
    ['a broken connection', new ConnectionError('gone')],
    ['a time-out', new RequestTimeoutError('silence')],
  ])('%s: unknown, so the newest value is sent again', async (_, trouble) => {
    const first = await scene.commitUnderWay(1);
    const second = scene.commit(at(0, 2));
    scene.cluster.once('OffsetCommit', answering());
    first.lose(trouble);
    await scene.runtime.advance(200);
    expect(await Promise.all([first.done, second])).toEqual(['stored', 'stored']);
    expect(scene.requests).toEqual(['0:1', '0:2']);
    expect(scene.cluster.requests('GroupCoordinator')).toHaveLength(2);
  });

  it('a deadline closes the connection before anything is sent again', async () => {
    scene.cluster.once('OffsetCommit', () => new Deferred().promise);
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(scene.cluster.requestTimeoutMs);
    expect(scene.cluster.closedChannels).toEqual(['group:s1']);
    expect(scene.requests).toEqual(['0:1']);
    expect(await done).toBeInstanceOf(CommitRefusedError);
    await scene.runtime.advance(1_000);
  });

  it('a partition that the answer leaves out is sent again', async () => {
    scene.cluster.once('OffsetCommit', [], answering());
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(200);
    expect(await done).toBe('markStored');
  });

  it.each([3, 7, 14, 15, 16])('%i: sent again until it is stored', async (code) => {
    scene.cluster.once('OffsetCommit', answering({ 0: code }), answering({ 0: code }), answering());
    const done = scene.commit(at(0, 1), at(1, 1));
    await scene.runtime.advance(1_000);
    expect(await done).toBe('markStored');
    expect(scene.requests).toEqual(['0:1 1:1', '0:1', '0:1']);
    const lookups = reactionTo('commit', code) === 'find-coordinator' ? 3 : 1;
    expect(scene.cluster.requests('GroupCoordinator')).toHaveLength(lookups);
  });

  it('3: refused at once where the topic is gone, and the others are not held up', async () => {
    scene.cluster.topics.delete('orders');
    scene.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const [before, started] = [scene.commit(at(0, 1), at(1, 1)), scene.runtime.monotonic()];
    expect(await before).toMatchObject({
      code: 'COMMIT_REFUSED',
      retriable: true,
      partitions: [{ topic: 'orders', partition: 0 }],
      cause: { code: 'UNKNOWN_TOPIC', topic: 'orders' },
    });
    expect(await scene.commit(at(1, 2))).toBe('markStored');
    expect(scene.requests).toEqual(['0:1 1:1', '1:2']);
    expect(scene.runtime.monotonic()).toBe(started);
  });

  it('3: refused where the topic is there but not this partition any more', async () => {
    scene.cluster.once('OffsetCommit', answering({ 7: 3 }));
    expect(await scene.commit(at(7, 1))).toMatchObject({
      code: 'COMMIT_REFUSED',
      cause: { code: 'UNKNOWN_PARTITION' },
    });
  });

  it('3: sent again where nobody can tell whether the topic is gone', async () => {
    scene.cluster.metadataError = new ConnectionError('no broker');
    scene.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(1_000);
    expect(await done).toBe('markStored');
  });

  it('3: sent again where it was gone once and nobody can tell whether it still is', async () => {
    scene.cluster.topics.delete('orders');
    await scene.cluster.metadata.refresh(['orders']);
    scene.cluster.metadataError = new ConnectionError('no broker');
    scene.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(1_000);
    expect(await done).toBe('markStored');
  });

  it('what cannot be stored in 30 s is refused, retriable, and not sent later', async () => {
    scene.cluster.always('OffsetCommit', answering({ 0: 14 }));
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(29_999);
    scene.cluster.always('OffsetCommit', answering({ 0: 14 }));
    await scene.runtime.advance(2_000);
    expect(await done).toMatchObject({ code: 'COMMIT_REFUSED', retriable: true });
    const asked = scene.requests.length;
    expect(asked).toBeLessThan(60);
    await scene.runtime.advance(60_000);
    expect(scene.requests).toHaveLength(asked);
  });

  it('27: held until the sync, then sent as the new member if still ours', async () => {
    const synced = new Deferred();
    scene.settled = synced.promise;
    scene.cluster.once('OffsetCommit', answering({ 0: 27 }));
    const done = scene.commit(at(0, 1));
    await scene.runtime.advance(5_000);
    expect(scene.requests).toHaveLength(1);
    scene.cluster.once('OffsetCommit', answering());
    synced.resolve();
    await scene.runtime.advance(200);
    expect(await done).toBe('markStored');
  });

  it('27: fenced after the sync when it is ours in a new generation only (librdkafka #1802, #2782)', async () => {
    const synced = new Deferred();
    scene.settled = synced.promise;
    scene.cluster.once('OffsetCommit', answering({ 0: 27 }));
    const done = scene.commit(at(0, 1));
    await scene.runtime.settle();
    scene.snapshot = { ...scene.snapshot, generation: 2 };
    synced.resolve();
    await scene.runtime.advance(200);
    expect(await done).toBeInstanceOf(FencedError);
    expect(scene.requests).toHaveLength(1);
  });

  it.each([22, 25])(
    '%i: fenced, and the membership hears of it (franz-go 1.21.3)',
    async (code) => {
      scene.cluster.once('OffsetCommit', answering({ 0: code, 1: code }));
      const error = await scene.commit(at(0, 1), at(1, 1));
      expect(error).toBeInstanceOf(FencedError);
      expect(error).toMatchObject({
        partitions: [
          { topic: 'orders', partition: 0 },
          { topic: 'orders', partition: 1 },
        ],
        cause: { brokerCode: code },
      });
      expect(scene.expelled[0]).toBe(`me 1 ${code}`);
    },
  );

  it('what is not ours when its turn comes is fenced, and the rest is stored', async () => {
    scene.cluster.once('OffsetCommit', answering());
    scene.notOwned.add(0);
    const error = await scene.commit(at(0, 1), at(1, 1));
    expect(error).toMatchObject({ code: 'FENCED', partitions: [{ partition: 0 }] });
    expect(scene.requests).toEqual(['1:1']);
  });

  it('what waited when the membership ended is fenced; what the next one commits is stored', async () => {
    const first = await scene.commitUnderWay(1);
    const before = scene.commit(at(0, 100));
    scene.snapshot = { ...scene.snapshot, generation: 2 };
    const after = scene.commit(at(0, 50));
    scene.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await before).toBeInstanceOf(FencedError);
    expect(await after).toBe('markStored');
    expect(scene.requests).toEqual(['0:1', '0:50']);
  });

  it('metadata that is too large fails its partition only', async () => {
    scene.cluster.once('OffsetCommit', answering({ 1: 12 }));
    const error = await scene.commit(at(0, 1), at(1, 1));
    expect(error).toBeInstanceOf(OffsetMetadataTooLargeError);
    expect(error).toMatchObject({ partitions: [{ topic: 'orders', partition: 1 }] });
  });

  it('the worst of several failures names the error, which lists them all', async () => {
    scene.cluster.once('OffsetCommit', answering({ 0: 12, 1: 22, 2: 28 }));
    const error = await scene.commit(at(0, 1), at(1, 1), at(2, 1), at(3, 1));
    expect(error).toMatchObject({
      code: 'FENCED',
      partitions: [{ partition: 0 }, { partition: 1 }, { partition: 2 }],
    });
  });

  it('is refused instead of sent again without a pause, when there is no timer to pause with', async () => {
    const first = await scene.commitUnderWay(1);
    const second = scene.commit(at(1, 5));
    await scene.runtime.settle();
    const setTimer = scene.runtime.setTimer.bind(scene.runtime);
    scene.runtime.setTimer = () => {
      scene.runtime.setTimer = setTimer;
      throw new TypeError('no timer here');
    };
    first.lose(new ConnectionError('gone'));
    const outcomes = await Promise.all([first.done, second]);
    expect(outcomes.map((outcome) => outcome !== 'stored' && outcome.cause)).toEqual([
      expect.any(TypeError),
      expect.any(TypeError),
    ]);
    expect(scene.requests).toEqual(['0:1']);
  });

  it('once the session is closed nothing is asked any more', async () => {
    scene.coordinator.close();
    const error = await scene.commit(at(0, 1));
    expect(error).toMatchObject({ code: 'COMMIT_REFUSED', cause: { code: 'CLOSED' } });
    expect(scene.requests).toEqual([]);
  });

  it.each([...brokerCodes.keys()].filter((code) => code !== 0))(
    'settles by itself, whatever the code: %i',
    async (code) => {
      scene.cluster.always('OffsetCommit', answering({ 0: code }));
      const done = scene.commit(at(0, 1));
      await scene.runtime.advance(35_000);
      expect(['FENCED', 'OFFSET_METADATA_TOO_LARGE', 'COMMIT_REFUSED']).toContain(
        ((await done) as CommitError).code,
      );
    },
  );
});

describe('commits whose time is over', () => {
  it('are forgotten, however long the coordinator stays away', async () => {
    const scene = new Scene();
    scene.cluster.always('OffsetCommit', answering({ 0: 14 }));
    for (let second = 0; second < 300; second++) {
      scene.committer.commit([at(0, second)]).catch(() => undefined);
      await scene.runtime.advance(1_000);
    }
    const told = jest.spyOn(CommitCall.prototype, 'markStored');
    scene.cluster.always('OffsetCommit', answering());
    await scene.runtime.advance(60_000);
    // Those of the last half a minute.
    expect(told.mock.calls.length).toBeGreaterThan(20);
    expect(told.mock.calls.length).toBeLessThan(40);
    told.mockRestore();
  });
});

describe('committing through a cooperative rebalance', () => {
  const next = (scene: Scene): void => {
    scene.snapshot = { ...scene.snapshot, generation: 2 };
    scene.owns = () => true;
  };

  it('a commit that came too late for its generation is stored in the next one', async () => {
    const scene = new Scene();
    const sync = new Deferred();
    scene.settled = sync.promise;
    scene.hasGoneOn = true;
    scene.cluster.once('OffsetCommit', answering({ 0: 22 }), answering());
    const done = scene.commit(at(0, 7));
    await scene.runtime.advance(10_000);
    expect(scene.requests).toEqual(['0:7']);
    next(scene);
    sync.resolve();
    await scene.runtime.advance(100);
    expect(await done).toBe('markStored');
    expect(scene.cluster.requests('OffsetCommit').at(-1)?.generation).toBe(2);
    expect(scene.expelled).toEqual([]);
  });

  it('and is fenced when the partition did not come along', async () => {
    const scene = new Scene();
    scene.hasGoneOn = true;
    scene.cluster.once('OffsetCommit', answering({ 0: 22 }));
    const done = scene.commit(at(0, 7));
    await scene.runtime.settle();
    scene.owns = () => false;
    await scene.runtime.advance(100);
    expect(await done).toBeInstanceOf(FencedError);
    expect(scene.requests).toEqual(['0:7']);
  });

  it('an older commit that waits is settled by a newer one of the next generation', async () => {
    const scene = new Scene();
    const first = await scene.commitUnderWay(1);
    const second = scene.commit(at(0, 2));
    next(scene);
    const third = scene.commit(at(0, 3));
    scene.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await Promise.all([first.done, second, third])).toEqual(['stored', 'stored', 'stored']);
    expect(scene.requests).toEqual(['0:1', '0:3']);
  });

  it('82 is fenced, and the membership is told', async () => {
    const scene = new Scene();
    scene.cluster.once('OffsetCommit', answering({ 0: 82 }));
    expect(await scene.commit(at(0, 1))).toBeInstanceOf(FencedError);
    expect(scene.expelled).toEqual(['me 1 82']);
  });
});

describe('committing as a member by KIP-848', () => {
  const scene = (): Scene => {
    const each = new Scene();
    each.snapshot = { ...each.snapshot, generation: 5, protocol: 'consumer' };
    return each;
  };

  it('names the member and its epoch, with metadata and leader epoch', async () => {
    const each = scene();
    each.cluster.once('OffsetCommit', answering());
    const full = { ...at(1, 7), leaderEpoch: 3, metadata: 'done' };
    await each.committer.commit([full]);
    expect(each.cluster.requests('OffsetCommit')).toMatchObject([
      { memberId: 'me', generation: 5, commits: [full] },
    ]);
  });

  it('113: stored in the next epoch, while the partition is still ours', async () => {
    const each = scene();
    each.cluster.once('OffsetCommit', answering({ 0: 113 }), answering());
    const done = each.commit(at(0, 7));
    await each.runtime.settle();
    each.snapshot = { ...each.snapshot, generation: 6 };
    each.owns = () => true;
    await each.runtime.advance(100);
    expect(await done).toBe('markStored');
    expect(each.cluster.requests('OffsetCommit').map(({ generation }) => generation)).toEqual([
      5, 6,
    ]);
    expect(each.expelled).toEqual([]);
  });

  it('113: never for a partition that was lost meanwhile', async () => {
    const each = scene();
    each.cluster.once('OffsetCommit', answering({ 0: 113 }));
    const done = each.commit(at(0, 7));
    await each.runtime.settle();
    each.owns = () => false;
    await each.runtime.advance(100);
    expect(await done).toBeInstanceOf(FencedError);
    expect(each.requests).toEqual(['0:7']);
  });

  it('25: fenced, and the membership is told', async () => {
    const each = scene();
    each.cluster.once('OffsetCommit', answering({ 0: 25 }));
    expect(await each.commit(at(0, 1))).toBeInstanceOf(FencedError);
    expect(each.expelled).toEqual(['me 5 25']);
  });
});
