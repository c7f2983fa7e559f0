import { ConnectionError } from '../../../port/errors.js';
import {
  JoinAttempt,
  type MemberClaim,
  type JoinOutcome,
  type JoinedGroup,
  type JoinAttemptOptions,
} from './join-attempt.js';
import { abortWithGrace } from './abort-with-grace.js';
import type { MemberStatus } from '../member-status.js';
import type { RetryUrgency } from '../retry-urgency.js';
import { JoinBackoff } from '../join-backoff.js';
import { RepeatedFailureLog } from '../repeated-failure-log.js';
import { checkTopicsExist } from '../topics/check-topics-exist.js';
import type { ClusterClient } from '../../../wire/index.js';
import type { MembershipLoss } from '../membership.js';

export type GroupJoinOutcome =
  { readonly kind: 'joined'; readonly joined: JoinedGroup } | MembershipLoss;

export interface GroupJoinerOptions extends JoinAttemptOptions {
  readonly status: MemberStatus;
  /** Called immediately before JoinGroup is sent. */
  readonly onJoining: () => void;
}

interface JoinFailure {
  readonly urgency: RetryUrgency;
  readonly error: Error;
  readonly isExpected: boolean;
  readonly isExpelled: boolean;
}

const ID_GRACE_MS = 1_000;
const UNEXPECTED = { isExpected: false, isExpelled: false };

/**
 * Joins the group and retries until the join succeeds. Keeps the member id that the coordinator has
 * assigned.
 */
export class GroupJoiner {
  memberId = '';
  readonly #options: GroupJoinerOptions;
  readonly #joinAttempt: JoinAttempt;
  readonly #cluster: ClusterClient;
  readonly #failures: RepeatedFailureLog;

  constructor(options: GroupJoinerOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#failures = new RepeatedFailureLog(options.cluster.runtime, options.logger);
    this.#joinAttempt = new JoinAttempt(options);
  }

  /**
   * Resolves with a loss if the owned partitions were given to others, or if a retry cannot help.
   * Rejects when the signal aborts.
   */
  async join(claim: () => MemberClaim, signal: AbortSignal): Promise<GroupJoinOutcome> {
    const backoff = new JoinBackoff(this.#cluster.runtime);
    try {
      for (;;) {
        const outcome = await this.#try(claim, signal);
        if (outcome.kind === 'joined') return outcome;
        const { error } = outcome;
        if (outcome.urgency === 'never') return { kind: 'lost', next: 'fail', error };
        if (outcome.isExpelled && claim().held) return { kind: 'lost', next: 'rejoin', error };
        this.#report(outcome, backoff);
        if (outcome.urgency === 'slowly') this.#closeChannel();
        await backoff.wait(outcome.urgency, signal);
      }
    } finally {
      this.#closeChannel();
    }
  }

  async #try(
    claim: () => MemberClaim,
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: 'joined'; readonly joined: JoinedGroup }
    | ({ readonly kind: 'again' } & JoinFailure)
  > {
    const unavailable = await checkTopicsExist(
      this.#options,
      this.#options.settings.topics,
      signal,
    );
    if (unavailable) return { kind: 'again', ...UNEXPECTED, ...unavailable };
    this.#options.onJoining();
    const outcome = await this.#runAttempt(claim, signal);
    this.memberId = outcome.kind === 'joined' ? outcome.joined.memberId : outcome.memberId;
    return outcome;
  }

  #runAttempt(claim: () => MemberClaim, signal: AbortSignal): Promise<JoinOutcome> {
    const attempt = (until: AbortSignal) => this.#joinAttempt.run(this.memberId, claim(), until);
    if (this.memberId !== '') return attempt(signal);
    // The grace period lets a response with a member id arrive. Otherwise the group would wait for
    // a member with that id, which never joins.
    return abortWithGrace(this.#cluster.runtime, signal, ID_GRACE_MS, attempt);
  }

  /** Expected errors are steps of the protocol, and are reported only if they persist. */
  #report({ error, isExpected }: JoinFailure, backoff: JoinBackoff): void {
    if (isExpected && !backoff.hasTooManyExpectedFailures()) return;
    const { groupId } = this.#options.settings;
    this.#failures.debug('The group could not be joined yet.', { groupId, error });
    this.#options.status.retrying(error);
  }

  #closeChannel(): void {
    this.#cluster.closeChannel(this.#options.channel, new ConnectionError('The join has ended.'));
  }
}
