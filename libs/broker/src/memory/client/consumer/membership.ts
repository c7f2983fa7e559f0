import { decodeAssignment, type PreviousAssignment } from '../../../assignment/index.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import { Backoff } from '../../../runtime/index.js';
import { isRefusal, MemberIdRequired } from '../../broker/refusal.js';
import type { Link } from '../link.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { AssignmentRoad } from './assignment-road.js';
import type { GroupClient, Identity, LeaderPlan } from './group-client.js';
import type { SessionParts } from './session-parts.js';
import { Tenure, type TenureEnd } from './tenure.js';
import type { TopicWatch } from './topic-watch.js';

export interface MembershipParts extends SessionParts {
  readonly link: Link;
  readonly group: GroupClient;
  readonly topics: TopicWatch;
  readonly road: AssignmentRoad;
}

/** For what only somebody else can mend: a permission, the assignors of the other members. */
const SLOW_RETRY_MS = 5_000;

const NOBODY: Identity = { memberId: '', generation: -1 };

/**
 * The eager protocol, one generation after the other:
 *
 *   join ──► sync ──► take over ──► stay ──► hand back ──┐ (rebalance)
 *    ▲                               │                   │
 *    │                               ├──► told of loss ──┤ (lost)
 *    └───────────────────────────────┼───────────────────┘
 *                                    └──► hand back ──► leave (closing)
 */
export class Membership {
  identity: Identity = NOBODY;
  #tenure: Tenure | undefined;
  #previous: PreviousAssignment | null = null;
  #isClosing = false;
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;

  constructor(
    private readonly parts: MembershipParts,
    private readonly options: ResolvedConsumerOptions,
  ) {
    this.#backoff = new Backoff(parts.link.cluster.runtime, { initialMs: 50, maxMs: 2_000 });
  }

  get tenure(): Tenure | undefined {
    return this.#tenure;
  }

  /** Stay as long as the session lasts, then hand back and leave. Ends without throwing. */
  async run(onFirstAssignment: () => void): Promise<void> {
    const { topics, status } = this.parts;
    status.joining();
    await topics.untilAllExist(this.#closing.signal);
    while (!this.#isClosing) {
      const tenure = await this.#enter();
      if (tenure && (await this.#takeOver(tenure))) {
        onFirstAssignment();
        await this.#stay(tenure);
      }
      if (tenure) await this.#end(tenure);
    }
  }

  /** What is under way is abandoned; what is owned is handed back. */
  close(): void {
    this.#isClosing = true;
    this.#closing.abort(new Error('The session is closing.'));
    this.#tenure?.end({ kind: 'closing' });
  }

  async leave(timeoutMs: number): Promise<void> {
    const { memberId } = this.identity;
    this.identity = NOBODY;
    if (memberId === '') return;
    await this.parts.group.leave(memberId, timeoutMs).catch((error: unknown) => {
      if (!isRefusal(error, 'UNKNOWN_MEMBER_ID')) this.parts.status.report(toBrokerError(error));
    });
  }

  /** One round of join and sync; undefined when it has to be tried again. */
  async #enter(): Promise<Tenure | undefined> {
    const { group, link, status, road } = this.parts;
    const { signal } = this.#closing;
    status.joining();
    try {
      const answer = await group.join(this.identity.memberId, this.#previous, signal);
      this.identity = { memberId: answer.memberId, generation: answer.generation };
      const plan = await group.plan(answer, signal);
      const share = await group.sync(this.identity, plan.shares, signal);
      this.#backoff.reset();
      status.recovered('group');
      const partitions = decodeAssignment(share);
      this.#previous = { partitions, generation: answer.generation };
      road.planned(partitions);
      return this.#newTenure(plan, link);
    } catch (error) {
      await this.#meetTrouble(error);
      return undefined;
    }
  }

  #newTenure(plan: LeaderPlan, link: Link): Tenure {
    const tenure = new Tenure(
      this.identity,
      plan,
      this.parts.group,
      this.options,
      link.cluster.runtime,
      this.parts.status,
      (error) => this.parts.fail(error),
    );
    this.#tenure = tenure;
    void tenure.lost.then(() => this.parts.road.forfeit());
    if (this.#isClosing) tenure.end({ kind: 'closing' });
    return tenure;
  }

  async #meetTrouble(error: unknown): Promise<void> {
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

  /** False when the generation ended before its partitions were ours. */
  async #takeOver(tenure: Tenure): Promise<boolean> {
    const ended = tenure.ended.then(() => false);
    const ready = this.#prepareRepeatedly(tenure);
    if (!(await Promise.race([ready, ended]))) return false;
    await this.parts.road.assign(() => tenure.signal.aborted);
    return true;
  }

  async #prepareRepeatedly(tenure: Tenure): Promise<boolean> {
    const backoff = new Backoff(this.parts.link.cluster.runtime, { initialMs: 20, maxMs: 1_000 });
    const { signal } = tenure;
    while (!signal.aborted) {
      try {
        await this.parts.road.prepare(signal);
        this.parts.status.recovered('group');
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        const shown = toBrokerError(error);
        if (isRetriable(shown)) this.parts.status.trouble('group', shown);
        else this.parts.fail(shown);
        await this.parts.rest(backoff.next(), signal);
      }
    }
    return false;
  }

  async #stay(tenure: Tenure): Promise<void> {
    this.parts.status.stable(tenure.identity.generation);
    void this.parts.topics
      .changed(tenure.plan, tenure.signal)
      .then(() => tenure.end({ kind: 'rebalance' }));
    await tenure.ended;
  }

  async #end(tenure: Tenure): Promise<void> {
    const reason = await tenure.ended;
    if (!this.#isClosing) this.parts.status.joining();
    const end = reason.kind === 'lost' ? reason : await this.#handBack(tenure, reason);
    tenure.stop();
    this.#tenure = undefined;
    if (end.kind === 'lost') await this.#tellLoss(end);
  }

  /** Heartbeats go on meanwhile; who takes longer than the group waits loses all the same. */
  async #handBack(tenure: Tenure, reason: TenureEnd): Promise<TenureEnd> {
    const { road } = this.parts;
    const returned = road.revoke().then(() => reason);
    const end = await Promise.race([returned, tenure.lost]);
    if (end.kind !== 'lost') road.release();
    return end;
  }

  async #tellLoss({ forgetId, error }: Extract<TenureEnd, { kind: 'lost' }>): Promise<void> {
    this.identity = { memberId: forgetId ? '' : this.identity.memberId, generation: -1 };
    this.parts.status.report(error);
    this.parts.road.forfeit();
    await this.parts.road.tellLoss();
  }
}
