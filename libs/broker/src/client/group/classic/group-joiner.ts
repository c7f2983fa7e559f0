import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError } from '../../../port/errors.js';
import type { GroupCluster } from '../group-cluster.js';
import type { Loss } from './classic-heartbeat.js';
import {
  JoinRound,
  type Claim,
  type JoinOutcome,
  type JoinedGroup,
  type JoinRoundOptions,
} from './join-round.js';
import { lingering } from '../abort-with-grace.js';
import type { MemberStatus } from '../member-status.js';
import type { Pace } from '../retry-urgency.js';
import { Patience } from './join-backoff.js';
import { topicsAreMissing } from '../missing-topics.js';

export type EntryOutcome = { readonly kind: 'joined'; readonly joined: JoinedGroup } | Loss;

export interface EntryOptions extends JoinRoundOptions {
  readonly status: MemberStatus;
  /** There is nothing left to do but to join. */
  readonly onJoining: () => void;
}

interface Setback {
  readonly pace: Pace;
  readonly error: Error;
  readonly routine: boolean;
  readonly expelled: boolean;
}

const ID_GRACE_MS = 1_000;
const NOTHING_ROUTINE = { routine: false, expelled: false };

/** The way into the group, tried for as long as it takes. It remembers by which id the group knows us. */
export class GroupEntry {
  memberId = '';
  readonly #options: EntryOptions;
  readonly #round: JoinRound;
  readonly #cluster: GroupCluster;
  readonly #logger: DriverLogger;

  constructor(options: EntryOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#logger = options.logger;
    this.#round = new JoinRound(options);
  }

  /** Ends with a loss where what is held is not ours any more, or nothing helps. Rejects when the signal aborts. */
  async enter(claim: () => Claim, signal: AbortSignal): Promise<EntryOutcome> {
    const patience = new Patience(this.#cluster.runtime);
    try {
      for (;;) {
        const outcome = await this.#try(claim, signal);
        if (outcome.kind === 'joined') return outcome;
        const { error } = outcome;
        if (outcome.pace === 'never') return { kind: 'lost', next: 'fail', error };
        if (outcome.expelled && claim().held) return { kind: 'lost', next: 'rejoin', error };
        this.#tell(outcome, patience);
        if (outcome.pace === 'slowly') this.#closeLane();
        await patience.wait(outcome.pace, signal);
      }
    } finally {
      this.#closeLane();
    }
  }

  async #try(
    claim: () => Claim,
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: 'joined'; readonly joined: JoinedGroup }
    | ({ readonly kind: 'again' } & Setback)
  > {
    const setback = await topicsAreMissing(this.#options, this.#options.settings.topics, signal);
    if (setback) return { kind: 'again', ...NOTHING_ROUTINE, ...setback };
    this.#options.onJoining();
    const outcome = await this.#attempt(claim, signal);
    this.memberId = outcome.kind === 'joined' ? outcome.joined.memberId : outcome.memberId;
    return outcome;
  }

  #attempt(claim: () => Claim, signal: AbortSignal): Promise<JoinOutcome> {
    const attempt = (until: AbortSignal) => this.#round.attempt(this.memberId, claim(), until);
    if (this.memberId !== '') return attempt(signal);
    // Closing now would miss the id that the group is about to wait for.
    return lingering(this.#cluster.runtime, signal, ID_GRACE_MS, attempt);
  }

  #tell({ error, routine }: Setback, patience: Patience): void {
    const { groupId } = this.#options.settings;
    this.#logger.debug('The group could not be joined yet.', { groupId, error });
    if (!routine || patience.endsWithRoutine()) this.#options.status.retrying(error);
  }

  #closeLane(): void {
    this.#cluster.closeLane(this.#options.lane, new ConnectionError('The join has ended.'));
  }
}
