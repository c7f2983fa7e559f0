import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import type { OngoingProblems } from '../../problems/ongoing-problems.js';
import { isPromiseLike } from '../and-then.js';

type Reports = Pick<OngoingProblems, 'report'>;

/** Reports handler results that are probably mistakes, although the bus accepts these results. */
export class HandlerProblems {
  readonly #binding: string;

  constructor(
    { name }: Pick<ResolvedBinding, 'name'>,
    private readonly problems: Reports,
  ) {
    this.#binding = name;
  }

  /**
   * Examines an answer that is neither undefined nor a ConsumerResult. An array is examined at its
   * ends only, and other objects not at all: see docs/decisions/0051.
   */
  examine(answer: unknown): void {
    if (answer === false) this.#report(RETURNED_FALSE);
    else if (Array.isArray(answer) && hasPromiseAtAnEnd(answer)) this.#report(RETURNED_PROMISES);
  }

  /** Reports that a handler returned again without acknowledging its record. */
  notAcknowledged(): void {
    this.#report(NOT_ACKNOWLEDGED);
  }

  /** Reports that a batch handler returned more or fewer results than it got records. */
  wrongNumberOfResults(results: number, records: number): void {
    this.#report(WRONG_NUMBER_OF_RESULTS, { results, records });
  }

  #report({ key, what, remedy }: Mistake, context: object = {}): void {
    const binding = this.#binding;
    this.problems.report({
      key,
      message: `A handler of binding '${binding}' ${what}. ${remedy}`,
      ended: `For a minute, no handler of binding '${binding}' ${what}`,
      context: { binding, ...context },
      reason: `a handler ${what}`,
    });
  }
}

function hasPromiseAtAnEnd(answer: readonly unknown[]): boolean {
  try {
    return isPromiseLike(answer[0]) || isPromiseLike(answer.at(-1));
  } catch {
    // A proxy that throws when it is read must not make the record fail.
    return false;
  }
}

interface Mistake {
  readonly key: string;
  /** What a handler did. Completes the sentence "A handler ...". */
  readonly what: string;
  readonly remedy: string;
}

const RETURNED_FALSE: Mistake = {
  key: 'returned-false',
  what: 'returned false, which counts as success',
  remedy:
    'To fail, throw an error or return ConsumerResult.retryable() or ConsumerResult.error(); else return nothing.',
};

const RETURNED_PROMISES: Mistake = {
  key: 'returned-promises',
  what: 'returned an array of promises, for which nobody waits',
  remedy: 'Return Promise.all(...): else records are committed before their work is done.',
};

const NOT_ACKNOWLEDGED: Mistake = {
  key: 'not-acknowledged',
  what: 'ended without acknowledge(), so its record is delivered again and again',
  remedy:
    "With ack: 'manual', call ctx.acknowledge() before the handler ends. To ask for another delivery, call ctx.handBack().",
};

const WRONG_NUMBER_OF_RESULTS: Mistake = {
  key: 'wrong-number-of-results',
  what: 'returned another number of results than it got records, so the batch fails',
  remedy: 'Return one result per record, in their order; undefined stands for success.',
};
