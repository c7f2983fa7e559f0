import type { FetchResponse } from '../../../wire/index.js';
import type { BudgetShare } from './prefetch-budget.js';

/**
 * Keeps the bytes of a response in the budget until the last of its parts is delivered or dropped.
 */
export class ResponseMemory {
  parts = 0;
  readonly #bytes: number;
  #unreleased = 1;

  constructor(
    answer: FetchResponse,
    private readonly share: BudgetShare,
    private readonly onReleased: () => void,
  ) {
    this.#bytes = answer.partitions.reduce((sum, { records }) => sum + (records?.length ?? 0), 0);
    share.take(this.#bytes);
  }

  addPart(): () => void {
    this.parts++;
    this.#unreleased++;
    return () => this.#release();
  }

  /** Ends the set-up: no further part is added. */
  seal(): void {
    this.#release();
  }

  #release(): void {
    if (--this.#unreleased === 0) this.share.giveBack(this.#bytes);
    this.onReleased();
  }
}
