import type { FetchAnswer } from '../../../wire/index.js';
import type { BudgetShare } from './prefetch-budget.js';

/** An answer's bytes stay in the budget until the last of its parts was handed out or dropped. */
export class AnswerHold {
  parts = 0;
  readonly #bytes: number;
  #open = 1;

  constructor(
    answer: FetchAnswer,
    private readonly share: BudgetShare,
    private readonly onReleased: () => void,
  ) {
    this.#bytes = answer.partitions.reduce((sum, { records }) => sum + (records?.length ?? 0), 0);
    share.take(this.#bytes);
  }

  part(): () => void {
    this.parts++;
    this.#open++;
    return () => this.#release();
  }

  /** No further part will be taken. */
  seal(): void {
    this.#release();
  }

  #release(): void {
    if (--this.#open === 0) this.share.giveBack(this.#bytes);
    this.onReleased();
  }
}
