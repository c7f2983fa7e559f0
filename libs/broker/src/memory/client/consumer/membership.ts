import {
  assignorNamed,
  decodeAssignment,
  type PreviousAssignment,
} from '../../../assignment/index.js';
import { FencedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import { Backoff, within } from '../../../runtime/index.js';
import type { JoinAnswer } from '../../broker/group-member.js';
import { isRefusal, MemberIdRequired } from '../../broker/refusal.js';
import type { Link } from '../link.js';
import { nameOf } from '../partition-name.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { AssignmentRoad } from './assignment-road.js';
import type { GroupMembership, Standing } from './group-membership.js';
import type { GroupClient, Identity, LeaderPlan } from './group-client.js';
import type { SessionParts } from './session-parts.js';
import { lossBy, Tenure, type Loss } from './generation.js';
import type { TopicWatch } from './topic-watch.js';

export interface MembershipParts extends SessionParts {
  readonly link: Link;
  readonly group: GroupClient;
  readonly topics: TopicWatch;
  readonly road: AssignmentRoad;
}

interface Entered {
  readonly tenure: Tenure;
  readonly plan: LeaderPlan;
  readonly partitions: readonly TopicPartition[];
}

/** For what only somebody else can mend: a permission, the assignors of the other members. */
const SLOW_RETRY_MS = 5_000;

/** Of the rebalance time-out: what is handed back later is lost. */
export const SHARE_FOR_HANDING_BACK = 0.9;

const NOBODY: Identity = { memberId: '', generation: -1 };

/**
 * One generation after the other:
 *
 *   join ──► sync ──► take over ──► stay ──► hand back ──┐ (rebalance)
 *    ▲                               │                   │
 *    │                               ├──► told of loss ──┤ (lost)
 *    └───────────────────────────────┼───────────────────┘
 *                                    └──► hand back ──► leave (closing)
 *
 * In a cooperative group a rebalance leads back to the join at once, with all that is owned; what
 * the sync then does not confirm is handed back, and the member joins again without it.
 */
export class Membership implements GroupMembership {
  identity: Identity = NOBODY;
  #tenure: Tenure | undefined;
  #previous: PreviousAssignment | null = null;
  #isJoining = false;
  #isClosing = false;
  #farewell: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;

  constructor(
    private readonly parts: MembershipParts,
    private readonly options: ResolvedConsumerOptions,
  ) {
    this.#backoff = new Backoff(parts.link.cluster.runtime, { initialMs: 50, maxMs: 2_000 });
  }

  /** The generation in which commits are made: while joining again, the one before. */
  get tenure(): Tenure | undefined {
    return this.#tenure;
  }

  /** Whether the group may have gone on from there with us: what is owned may be ours in the next generation too. */
  hasGoneOn(tenure: Standing): boolean {
    return this.#owned.length > 0 && (this.#isJoining || tenure !== this.#tenure);
  }

  /** Stay as long as the session lasts, then hand back and leave. Ends without throwing. */
  async run(onFirstAssignment: () => void): Promise<void> {
    const { topics, status } = this.parts;
    status.joining();
    await topics.untilAllExist(this.#closing.signal);
    while (!this.#isClosing) {
      const entered = await this.#enter();
      if (entered) await this.#live(entered, onFirstAssignment);
    }
    // Closed in the middle of a cooperative rebalance.
    if (this.#tenure) await this.#handBack(this.#tenure, this.#owned);
    this.#endTenure();
  }

  /** What is under way is abandoned; what is owned is handed back. */
  close(): void {
    this.#isClosing = true;
    this.#closing.abort(new Error('The session is closing.'));
    this.#tenure?.end({ kind: 'closing' });
  }

  /** A static member stays in the group: until its session is over, what it had waits for it. */
  async leave(timeoutMs: number): Promise<void> {
    const { memberId } = this.identity;
    this.identity = NOBODY;
    if (memberId === '' || this.options.groupInstanceId !== null) return;
    await this.parts.group.leave(memberId, timeoutMs).catch((error: unknown) => {
      if (!isRefusal(error, 'UNKNOWN_MEMBER_ID')) this.parts.status.report(toBrokerError(error));
    });
  }

  get #owned(): readonly TopicPartition[] {
    return this.parts.ownership.list();
  }

  /** One round of join and sync; undefined when it has to be tried again. */
  async #enter(): Promise<Entered | undefined> {
    const { group, status } = this.parts;
    if (this.#owned.length === 0) this.#endTenure();
    status.joining();
    this.#isJoining = true;
    try {
      const answer = await group.join(this.identity.memberId, this.#claim(), this.#signal);
      this.#admitted(answer);
      const plan = await group.plan(answer, this.#signal);
      const shares = answer.skipAssignment ? new Map<string, Buffer>() : plan.shares;
      const share = await group.sync(this.identity, shares, this.#signal);
      this.#backoff.reset();
      status.recovered('group');
      const partitions = decodeAssignment(share);
      this.#previous = { partitions, generation: answer.generation };
      return { tenure: this.#tenure ?? this.#newTenure(answer), plan, partitions };
    } catch (error) {
      await this.#meetTrouble(error);
      return undefined;
    } finally {
      this.#isJoining = false;
    }
  }

  /** Aborts when the session closes, and when what is owned is lost on the way. */
  get #signal(): AbortSignal {
    const { signal } = this.#closing;
    return this.#tenure ? AbortSignal.any([signal, this.#tenure.signal]) : signal;
  }

  #endTenure(): void {
    this.#tenure?.stop();
    this.#tenure = undefined;
  }

  /** The generation is that of the last sync: one that was only joined has confirmed nothing. */
  #claim() {
    const previous = this.#previous;
    const partitions = this.#owned;
    const held = partitions.length === 0 || !previous ? null : { ...previous, partitions };
    return { previous, held };
  }

  /** The group has gone on to a new generation. What is owned stays so, unless its assignor is an eager one. */
  #admitted(answer: JoinAnswer): void {
    this.identity = { memberId: answer.memberId, generation: answer.generation };
    this.#endTenure();
    const owned = this.#owned;
    if (owned.length === 0) return;
    if (assignorNamed(answer.protocol).cooperative) this.#newTenure(answer);
    else this.#farewell = this.#loseSome(owned, lostToEager(owned, answer.protocol));
  }

  #newTenure(answer: JoinAnswer): Tenure {
    const tenure = new Tenure(
      this.identity,
      assignorNamed(answer.protocol).cooperative,
      this.parts.group,
      { ...this.options, isJoining: () => this.#isJoining },
      this.parts.link.cluster.runtime,
      this.parts.status,
      (error) => this.parts.fail(error),
    );
    this.#tenure = tenure;
    void tenure.lost.then(() => this.parts.road.forfeit(this.#owned));
    if (this.#isClosing) tenure.end({ kind: 'closing' });
    return tenure;
  }

  async #meetTrouble(error: unknown): Promise<void> {
    const loss = this.#lossOnTheWay(error);
    if (loss) return this.#tellLoss(loss);
    if (this.#isClosing) return;
    if (error instanceof MemberIdRequired) {
      this.identity = { memberId: error.memberId, generation: -1 };
      return;
    }
    if (isRefusal(error, 'UNKNOWN_MEMBER_ID')) {
      this.identity = NOBODY;
      return;
    }
    if (isRefusal(error, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION')) return;
    const shown = toBrokerError(error);
    this.parts.status.trouble('group', shown);
    const delayMs = isRetriable(shown) ? this.#backoff.next() : SLOW_RETRY_MS;
    await this.parts.rest(delayMs, this.#closing.signal);
  }

  /** A generation that went by without us may have given away what we own. */
  #lossOnTheWay(error: unknown): Loss | undefined {
    if (isRefusal(error, 'FENCED_INSTANCE_ID')) return lossBy(error);
    if (this.#tenure && isRefusal(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION'))
      return lossBy(error);
    return this.#tenure?.loss;
  }

  async #live({ tenure, plan, partitions }: Entered, onFirst: () => void): Promise<void> {
    const { topics, road } = this.parts;
    await this.#farewell;
    const owned = new Set(this.#owned.map(nameOf));
    const wanted = new Set(partitions.map(nameOf));
    const added = partitions.filter((each) => !owned.has(nameOf(each)));
    const gone = this.#owned.filter((each) => !wanted.has(nameOf(each)));
    if (gone.length > 0) {
      await this.#handBack(tenure, gone);
      if (added.length > 0 && !this.#isClosing && !tenure.signal.aborted) void road.assign(added);
      return;
    }
    const told = owned.size > 0 && added.length === 0 ? Promise.resolve() : road.assign(added);
    void told.then(() => this.#stable(tenure, onFirst));
    void topics.changed(plan, tenure.signal).then(() => tenure.end({ kind: 'rebalance' }));
    await this.#stay(tenure);
  }

  #stable(tenure: Tenure, onFirst: () => void): void {
    onFirst();
    if (!tenure.isEnding && !this.#isClosing) this.parts.status.stable(tenure.identity.generation);
  }

  async #stay(tenure: Tenure): Promise<void> {
    const end = await tenure.ended;
    if (!this.#isClosing) this.parts.status.joining();
    if (end.kind === 'lost') return this.#tellLoss(end);
    if (end.kind === 'rebalance' && tenure.isCooperative && this.#owned.length > 0) return;
    await this.#handBack(tenure, this.#owned);
    this.#endTenure();
  }

  /** Heartbeats go on meanwhile; who takes longer than the group waits loses all the same. */
  async #handBack(tenure: Tenure, partitions: readonly TopicPartition[]): Promise<void> {
    const { road, link } = this.parts;
    const boundMs = this.options.rebalanceTimeoutMs * SHARE_FOR_HANDING_BACK;
    const late = (): Error => handedBackTooLate(partitions, this.options.rebalanceTimeoutMs);
    const returned = within(link.cluster.runtime, boundMs, road.revoke(partitions), late).then(
      () => undefined,
      (error: Error) => error,
    );
    const end = await Promise.race([returned, tenure.lost]);
    if (end === undefined) road.release(partitions);
    else if (end instanceof Error) await this.#loseSome(partitions, end);
    else await this.#tellLoss(end);
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

  async #tellLoss({ forgetId, error, isFinal }: Loss): Promise<void> {
    this.#endTenure();
    this.identity = { memberId: forgetId ? '' : this.identity.memberId, generation: -1 };
    await this.#loseSome(this.#owned, error);
    if (isFinal) this.parts.fail(error);
  }
}

export function handedBackTooLate(
  partitions: readonly TopicPartition[],
  timeoutMs: number,
): FencedError {
  return new FencedError(
    partitions,
    `The partitions were not handed back within the rebalance time-out of ${timeoutMs} ms, so others get them. Make onRevoked faster, or raise rebalanceTimeoutMs.`,
  );
}

function lostToEager(partitions: readonly TopicPartition[], protocol: string): FencedError {
  return new FencedError(
    partitions,
    `The group shares its partitions by "${protocol}" now, which gives away what its members have: a member joined that has no cooperative assignor, or prefers another. Give all members "cooperative-sticky" first.`,
  );
}
