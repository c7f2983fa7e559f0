import type { FetchResponse } from '../../../wire/index.js';
import type { BudgetShare } from './prefetch-budget.js';

/**
 * Counts the bytes of a response against the budget until the last part of the response is
 * delivered or dropped.
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

  addPart(): void {
    this.parts++;
    this.#unreleased++;
  }

  /**
   * Releases one part. The last call, after all parts were added, releases the memory even if the
   * response has no part.
   */
  readonly release = (): void => {
    if (--this.#unreleased === 0) this.share.giveBack(this.#bytes);
    this.onReleased();
  };
}
