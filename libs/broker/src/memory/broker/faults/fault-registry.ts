import type { TopicPartition } from '../../../port/record.js';
import { isMatched, type FaultMatch, type Operation, type RequestScope } from './request-scope.js';
import { Refusal, type RefusalName } from './refusal.js';

/**
 * The error that a fault answers: one of Kafka's error names, or any error, such as a lost
 * connection.
 */
export type FaultError = RefusalName | Error;

export type FaultEffect =
  | { readonly kind: 'refuse'; readonly error: FaultError }
  | { readonly kind: 'delay-request'; readonly milliseconds: number }
  | { readonly kind: 'delay-answer'; readonly milliseconds: number }
  | { readonly kind: 'lose-request' }
  | { readonly kind: 'lose-answer' }
  | { readonly kind: 'fail-after'; readonly error: FaultError };

export interface FaultLimit {
  /** The number of requests after which the fault lifts itself. Default: unlimited. */
  readonly times?: number;
}

/** An active fault. */
export interface Fault {
  /** The number of requests that the fault has affected. */
  readonly hits: number;
  lift(): void;
}

class ActiveFault implements Fault {
  hits = 0;

  constructor(
    readonly match: FaultMatch,
    readonly effect: FaultEffect,
    private readonly times: number,
    private readonly onLifted: (rule: ActiveFault) => void,
  ) {}

  hit(): FaultEffect {
    this.hits += 1;
    if (this.hits >= this.times) this.lift();
    return this.effect;
  }

  lift(): void {
    this.onLifted(this);
  }
}

/** The active faults, and the search for those that affect a request. */
export class FaultRegistry {
  #active: ActiveFault[] = [];

  add(match: FaultMatch, effect: FaultEffect, { times = Infinity }: FaultLimit = {}): Fault {
    const rule = new ActiveFault(match, effect, times, (lifted) => {
      this.#active = this.#active.filter((each) => each !== lifted);
    });
    this.#active.push(rule);
    return rule;
  }

  /**
   * Returns the faults that affect the request as a whole, in the order in which they were added.
   */
  take(scope: RequestScope): readonly FaultEffect[] {
    return this.#active
      .filter((rule) => !isForOnePartition(rule, scope) && isMatched(rule.match, scope))
      .map((rule) => rule.hit());
  }

  /** Returns the refusal of one partition of a request, whose other partitions may succeed. */
  refusalOf(scope: RequestScope, partition: TopicPartition): Refusal | undefined {
    const narrowed = { ...scope, partitions: [partition] };
    const rule = this.#active.find(
      (each) => isForOnePartition(each, scope) && isMatched(each.match, narrowed),
    );
    const effect = rule?.hit();
    if (effect?.kind !== 'refuse' || typeof effect.error !== 'string') return undefined;
    return new Refusal(effect.error, 'ordered by a fault');
  }
}

export function faultError(error: FaultError): Error {
  return typeof error === 'string' ? new Refusal(error, 'ordered by a fault') : error;
}

const ANSWERED_BY_PARTITION: ReadonlySet<Operation> = new Set<Operation>(['fetch', 'commit']);

/**
 * Returns whether the fault applies to single partitions: it names a topic and a Kafka error, and
 * the response has errors per partition.
 */
function isForOnePartition({ match, effect }: ActiveFault, { operation }: RequestScope): boolean {
  return (
    match.topic !== undefined &&
    effect.kind === 'refuse' &&
    typeof effect.error === 'string' &&
    ANSWERED_BY_PARTITION.has(operation)
  );
}
