import { type CommitError } from '../../../port/errors.js';
import { Deferred, VirtualRuntime } from '../../../runtime/index.js';
import { GroupCoordinator } from '../group-coordinator.js';
import { coordinatedBy } from '../member-under-test.spec-support.js';
import { type MemberSnapshot, isSameGeneration } from '../membership.js';
import { OffsetCommitter } from './offset-committer.js';
import { ScriptedCluster, type SentRequest } from '../scripted-cluster.spec-support.js';

export const at = (partition: number, offset: number) => ({ topic: 'orders', partition, offset });

/** Answers each partition with its code; the default is 0. */
export const answering =
  (codes: Readonly<Record<number, number>> = {}) =>
  ({ commits }: SentRequest) =>
    commits.map(({ topic, partition }) => ({ topic, partition, code: codes[partition] ?? 0 }));

export class CommitterTest {
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
  hasNewGeneration = false;
  owns = (since: MemberSnapshot): boolean => isSameGeneration(since, this.snapshot);
  settled = Promise.resolve();
  readonly committer = new OffsetCommitter({
    coordinator: this.coordinator,
    ownedPartitions: { get: ({ partition }) => !this.notOwned.has(partition) || undefined },
    membership: () => ({
      member: {
        snapshot: this.snapshot,
        leaseUntil: Infinity,
        owns: (_, since) => this.owns(since),
        mayHaveNewGeneration: () => this.hasNewGeneration,
        reportExpelled: ({ memberId, generation }, code) =>
          void this.expelled.push(`${memberId} ${generation} ${code}`),
      },
      whenSettled: () => this.settled,
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

  /** Commits and returns the result: `stored`, or the error. */
  commit(...offsets: readonly ReturnType<typeof at>[]): Promise<'stored' | CommitError> {
    return this.committer.commit(offsets).then(
      () => 'stored' as const,
      (error: CommitError) => error,
    );
  }

  /** Starts a commit whose request is under way. The test answers it later. */
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
