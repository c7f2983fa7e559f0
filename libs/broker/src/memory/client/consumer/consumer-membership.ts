import { FencedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import { Backoff, Deferred, within } from '../../../runtime/index.js';
import type { BeatAnswer } from '../../broker/consumer-member.js';
import { isRefusal } from '../../broker/refusal.js';
import { nameOf } from '../partition-name.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import { ConsumerStanding } from './consumer-standing.js';
import type { Identity } from './group-client.js';
import type { GroupMembership, Standing } from './group-membership.js';
import { handedBackTooLate, SHARE_FOR_HANDING_BACK, type MembershipParts } from './membership.js';
import type { Loss } from './generation.js';

/** For what only somebody else can mend. */
const SLOW_RETRY_MS = 5_000;
const LEAVE_TIMEOUT_MS = 1_000;

/** Who joins by KIP-848 plans for nobody. */
const NOTHING_PLANNED = { shares: new Map<string, Buffer>() };

/**
 * Membership by KIP-848: every heartbeat says what we own, its answer what we should own. What is
 * to go is handed back, and the next heartbeat says so at once; what stays is not touched.
 */
export class ConsumerMembership implements GroupMembership {
  #standing: ConsumerStanding | undefined;
  #isClosing = false;
  readonly #closing = new AbortController();
  readonly #closed = new Deferred<undefined>();
  /** Being handed back. */
  readonly #leaving = new Map<string, Promise<void>>();
  #assigning = 0;
  #alarm = new AbortController();

  constructor(
    private readonly parts: MembershipParts,
    private readonly options: ResolvedConsumerOptions,
  ) {}

  get identity(): Identity {
    const { identity } = this.#standing ?? {};
    return identity && identity.generation > 0 ? identity : { memberId: '', generation: -1 };
  }

  get tenure(): Standing | undefined {
    return this.#standing;
  }

  /** An epoch that is over is refused by a name of its own, and the commit made again. */
  hasGoneOn(): boolean {
    return false;
  }

  async run(onFirstAssignment: () => void): Promise<void> {
    const { topics, status } = this.parts;
    status.joining();
    await topics.untilAllExist(this.#closing.signal);
    while (!this.#isClosing) await this.#live(onFirstAssignment);
  }

  close(): void {
    this.#isClosing = true;
    this.#closing.abort(new Error('The session is closing.'));
    this.#closed.resolve(undefined);
  }

  /** A static member says so too: it keeps its partitions, and a successor may have its id. */
  async leave(timeoutMs: number): Promise<void> {
    const standing = this.#standing;
    this.#standing = undefined;
    if (!standing) return;
    await this.parts.group.leave(standing.identity.memberId, timeoutMs).catch((error: unknown) => {
      if (!isRefusal(error, 'UNKNOWN_MEMBER_ID')) this.parts.status.report(toBrokerError(error));
    });
  }

  get #owned(): readonly TopicPartition[] {
    return this.parts.ownership.list();
  }

  async #live(onFirst: () => void): Promise<void> {
    const { cluster } = this.parts.link;
    const { consumerSessionTimeoutMs } = cluster.groups;
    const standing = new ConsumerStanding(cluster.runtime, consumerSessionTimeoutMs);
    this.#standing = standing;
    this.parts.status.joining();
    const beats = this.#beatOn(standing, onFirst);
    void this.parts.topics.changed(NOTHING_PLANNED, standing.signal);
    const loss =
      (await Promise.race([standing.lost, this.#closed.promise])) ??
      (await this.#handBackAll(standing));
    if (loss) await this.#tellLoss(standing, loss);
    standing.stop();
    await beats;
  }

  async #beatOn(standing: ConsumerStanding, onFirst: () => void): Promise<void> {
    const { runtime } = this.parts.link.cluster;
    const backoff = new Backoff(runtime, { initialMs: 50, maxMs: 2_000 });
    while (!standing.signal.aborted) {
      let pauseMs: number;
      this.#alarm = new AbortController();
      try {
        pauseMs = await this.#beat(standing, onFirst);
        backoff.reset();
      } catch (error) {
        if (standing.signal.aborted) return;
        pauseMs = this.#meet(standing, error, backoff);
      }
      await this.parts.rest(pauseMs, AbortSignal.any([standing.signal, this.#alarm.signal]));
    }
  }

  async #beat(standing: ConsumerStanding, onFirst: () => void): Promise<number> {
    const { group, link, status } = this.parts;
    const { signal, identity } = standing;
    const sentAt = link.cluster.runtime.monotonic();
    const answer = await group.beat(identity, this.#owned, { signal });
    standing.enter(answer.epoch, sentAt);
    status.recovered('group');
    const isFirst = identity.generation < 0;
    // Who is closing hands back all: what the group plans for it is of no interest any more.
    if (!signal.aborted && !this.#isClosing) this.#reconcile(answer, standing, isFirst, onFirst);
    return answer.intervalMs;
  }

  #meet(standing: ConsumerStanding, error: unknown, backoff: Backoff): number {
    if (isRefusal(error, 'UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH', 'FENCED_INSTANCE_ID'))
      standing.fencedBy(error);
    const shown = toBrokerError(error);
    if (!standing.signal.aborted) this.parts.status.trouble('group', shown);
    return isRetriable(shown) ? backoff.next() : SLOW_RETRY_MS;
  }

  #reconcile(
    { assignment }: BeatAnswer,
    standing: ConsumerStanding,
    isFirst: boolean,
    onFirst: () => void,
  ): void {
    const [owned, wanted] = [new Set(this.#owned.map(nameOf)), new Set(assignment.map(nameOf))];
    const added = assignment.filter((each) => !owned.has(nameOf(each)));
    const going = this.#owned.filter(
      (each) => !wanted.has(nameOf(each)) && !this.#leaving.has(nameOf(each)),
    );
    if (going.length > 0) {
      this.parts.status.joining();
      const done = this.#letGo(going, standing);
      for (const each of going) this.#leaving.set(nameOf(each), done);
    }
    if (added.length > 0 || isFirst) void this.#assign(added, standing).then(onFirst);
    else this.#tellStable(standing);
  }

  async #assign(added: readonly TopicPartition[], standing: ConsumerStanding): Promise<void> {
    this.parts.status.joining();
    this.#assigning += 1;
    await this.parts.road.assign(added);
    this.#assigning -= 1;
    this.#tellStable(standing);
  }

  #tellStable({ identity, signal }: ConsumerStanding): void {
    if (this.#assigning > 0 || this.#leaving.size > 0 || signal.aborted || this.#isClosing) return;
    this.parts.status.stable(identity.generation);
  }

  async #letGo(going: readonly TopicPartition[], standing: ConsumerStanding): Promise<void> {
    const end = await this.#handBack(going, standing);
    if (end !== undefined && !(end instanceof Error)) return;
    for (const each of going) this.#leaving.delete(nameOf(each));
    if (end) await this.#loseSome(going, end);
    else this.parts.road.release(going);
    this.#alarm.abort(new Error('There is something to say.'));
  }

  async #handBackAll(standing: ConsumerStanding): Promise<Loss | undefined> {
    const staying = this.#owned.filter((each) => !this.#leaving.has(nameOf(each)));
    const [end] = await Promise.all([
      this.#handBack(staying, standing),
      Promise.race([Promise.all(this.#leaving.values()), standing.lost]),
    ]);
    if (end instanceof Error) await this.#loseSome(staying, end);
    else if (end) return end;
    this.parts.road.release(this.#owned);
    return undefined;
  }

  /** Heartbeats go on meanwhile. Gives why it did not work out. */
  #handBack(
    partitions: readonly TopicPartition[],
    standing: ConsumerStanding,
  ): Promise<Error | Loss | undefined> {
    const { rebalanceTimeoutMs } = this.options;
    const late = (): Error => handedBackTooLate(partitions, rebalanceTimeoutMs);
    const returned = within(
      this.parts.link.cluster.runtime,
      rebalanceTimeoutMs * SHARE_FOR_HANDING_BACK,
      this.parts.road.revoke(partitions),
      late,
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    return Promise.race([returned, standing.lost]);
  }

  async #loseSome(partitions: readonly TopicPartition[], error: Error): Promise<void> {
    const { link, status, road } = this.parts;
    status.report(error);
    road.forfeit(partitions);
    const late = (): Error => new FencedError(partitions, 'onLost does not end.');
    const { rebalanceTimeoutMs } = this.options;
    await within(link.cluster.runtime, rebalanceTimeoutMs, road.tellLoss(), late).catch(
      (tooLate: Error) => status.report(tooLate),
    );
  }

  async #tellLoss(standing: ConsumerStanding, { error, forgetId, isFinal }: Loss): Promise<void> {
    standing.stop();
    this.#leaving.clear();
    await this.#loseSome(this.#owned, error);
    if (forgetId || isFinal) this.#standing = undefined;
    if (isFinal) this.parts.fail(error);
    if (!this.#isClosing) await this.leave(LEAVE_TIMEOUT_MS);
  }
}
