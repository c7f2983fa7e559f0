import type { TopicPartition } from '../../../port/record.js';
import { reactionTo } from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-advice.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { Heart, type Loss } from './classic-heartbeat.js';
import { Holding } from '../owned-partitions.js';
import type { Admission } from './join-round.js';
import type { MemberSnapshot } from '../membership.js';
import type { MemberStatus } from '../member-status.js';
import { noMember, Term } from './generation.js';
import { TurningPoint } from '../one-time-event.js';

export interface StandingOptions {
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings & { readonly heartbeatIntervalMs: number };
  readonly status: MemberStatus;
}

/** A cooperative group often needs a second round: it begins when a heartbeat tells of it. */
const BRISK_BEATS = 10;

/**
 * Where we stand in the group: the generation that we are in, with its heartbeats, and what is
 * ours. A cooperative member goes from one generation to the next without losing its standing.
 */
export class Standing {
  /** While a join is under way. */
  isEntering = false;
  readonly holding = new Holding();
  readonly #options: StandingOptions;
  #term: Term | undefined;
  #heart: Heart | undefined;
  #loss = new TurningPoint<Loss>();

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  get term(): Term | undefined {
    return this.#term;
  }

  get snapshot(): MemberSnapshot {
    return this.#term?.snapshot ?? noMember(this.#options.settings.groupId);
  }

  /** What is ours is so no longer. */
  get loss(): TurningPoint<Loss> {
    return this.#loss;
  }

  /** When the group was known to be at rest. */
  get stableAt(): number | undefined {
    return this.#heart?.stableAt;
  }

  owns(partition: TopicPartition, { memberId, generation }: MemberSnapshot): boolean {
    return this.snapshot.memberId === memberId && this.holding.hasSince(partition, generation);
  }

  hasGoneOn({ memberId, generation }: MemberSnapshot): boolean {
    const { snapshot } = this;
    if (this.holding.size === 0 || snapshot.memberId !== memberId) return false;
    return this.isEntering || snapshot.generation > generation;
  }

  begin({ memberId, generation, cooperative }: Admission): Term {
    const { groupId, groupInstanceId } = this.#options.settings;
    if (this.holding.size === 0) this.#loss = new TurningPoint();
    this.#heart?.stop();
    const protocol = 'classic';
    this.#term = new Term(
      { groupId, memberId, generation, groupInstanceId, protocol },
      cooperative,
    );
    this.#heart = this.#heartOf(this.#term);
    this.#heart.start();
    return this.#term;
  }

  /** All was handed back. Heartbeats go on until we join again. */
  leaveTerm(): void {
    this.#term = undefined;
  }

  stopHeart(): void {
    this.#heart?.stop();
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    if (!this.#term?.isOf(snapshot)) return;
    const error = groupError(code, 'a commit was not accepted', this.#options.settings);
    this.#loss.happen({ kind: 'lost', next: afterExpulsion(code), error });
  }

  /** From here on nothing is ours. Gives what was. */
  forfeit(): readonly TopicPartition[] {
    this.#heart?.stop();
    this.#term = undefined;
    this.#loss = new TurningPoint();
    return this.holding.clear();
  }

  #heartOf(term: Term): Heart {
    const { coordinator, settings, status } = this.#options;
    const { snapshot, cooperative } = term;
    return new Heart({
      runtime: coordinator.runtime,
      coordinator,
      snapshot,
      settings,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      briskBeats: cooperative ? BRISK_BEATS : 0,
      isJoining: () => this.isEntering,
      onAlive: () => {
        if (term.assigned && !term.over) status.stable(snapshot.generation);
      },
      onTrouble: (error) => status.retrying(error),
      onRebalance: () => term.handBack.resolve({ kind: 'hand-back', because: 'rebalance' }),
      onLoss: (loss) => this.#loss.happen(loss),
    });
  }
}

function afterExpulsion(code: number): Loss['next'] {
  switch (reactionTo('heartbeat', code)) {
    case 'lost':
      return 'rejoin';
    case 'refuse':
      return 'fail';
    default:
      return 'rejoin-as-new';
  }
}
