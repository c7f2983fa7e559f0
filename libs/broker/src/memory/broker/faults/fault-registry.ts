import type { TopicPartition } from '../../../port/record.js';
import { isMatched, type FaultMatch, type Operation, type RequestScope } from './request-scope.js';
import { Refusal, type RefusalName } from './refusal.js';

/** What a fault answers: a refusal by Kafka's name, or any error, as a broken connection would cause. */
export type FaultError = RefusalName | Error;

export type FaultEffect =
  | { readonly kind: 'refuse'; readonly error: FaultError }
  | { readonly kind: 'delay-request'; readonly milliseconds: number }
  | { readonly kind: 'delay-answer'; readonly milliseconds: number }
  | { readonly kind: 'lose-request' }
  | { readonly kind: 'lose-answer' }
  | { readonly kind: 'fail-after'; readonly error: FaultError };

export interface FaultLimit {
  /** How many requests it meets before it lifts itself. Default: until it is lifted. */
  readonly times?: number;
}

/** A fault in force. */
export interface Fault {
  /** How many requests it has met. */
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

/** The faults in force, and which of them a request meets. */
export class FaultRegistry {
  #active: ActiveFault[] = [];

  add(match: FaultMatch, effect: FaultEffect, { times = Infinity }: FaultLimit = {}): Fault {
    const rule = new ActiveFault(match, effect, times, (lifted) => {
      this.#active = this.#active.filter((each) => each !== lifted);
    });
    this.#active.push(rule);
    return rule;
  }

  /** Every fault that the request meets as a whole, in the order in which they were ordered. */
  take(scope: RequestScope): readonly FaultEffect[] {
    return this.#active
      .filter((rule) => !isForOnePartition(rule, scope) && isMatched(rule.match, scope))
      .map((rule) => rule.hit());
  }

  /** The refusal that one partition of a request meets, while its other partitions do not. */
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

/** A named refusal for a topic is an answer about partitions, where the answer has room for such. */
function isForOnePartition({ match, effect }: ActiveFault, { operation }: RequestScope): boolean {
  return (
    match.topic !== undefined &&
    effect.kind === 'refuse' &&
    typeof effect.error === 'string' &&
    ANSWERED_BY_PARTITION.has(operation)
  );
}
