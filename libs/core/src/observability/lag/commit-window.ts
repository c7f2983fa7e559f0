/** Figures of one poll. */
export interface LagSample {
  readonly at: number;
  readonly committed: number;
  readonly records: number;
}

/** What the polls of the window say, by the rules of Burrow. */
export type Progress =
  /** Too few polls, or records were finished and the lag does not grow. */
  | { readonly kind: 'fine' }
  /** There was lag in every poll, and it never decreased. */
  | { readonly kind: 'growing'; readonly from: number; readonly overMs: number }
  /** There was lag in every poll, and nothing was committed. */
  | { readonly kind: 'standing'; readonly overMs: number }
  /** The committed offset went back, and has not recovered. */
  | { readonly kind: 'rewound'; readonly from: number; readonly to: number };

/** Number of polls that decide. */
export const WINDOW_POLLS = 7;

/** The last polls of a group in a partition. */
export class CommitWindow {
  #samples: LagSample[] = [];

  add(sample: LagSample): void {
    this.#samples.push(sample);
    if (this.#samples.length > WINDOW_POLLS) this.#samples.shift();
  }

  clear(): void {
    this.#samples = [];
  }

  /** Returns whether the group has committed something within the window. */
  get isCommitting(): boolean {
    const [first] = this.#samples;
    return (
      first !== undefined && this.#samples.some(({ committed }) => committed > first.committed)
    );
  }

  get progress(): Progress {
    const rewound = this.#rewound();
    if (rewound) return rewound;
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    const isFull = this.#samples.length === WINDOW_POLLS;
    if (!first || !last || !isFull || this.#samples.some(({ records }) => records === 0))
      return { kind: 'fine' };
    const overMs = last.at - first.at;
    if (last.committed === first.committed) return { kind: 'standing', overMs };
    const neverDecreases = this.#samples.every(
      ({ records }, index) => records >= (this.#samples[index - 1]?.records ?? 0),
    );
    return neverDecreases && last.records > first.records
      ? { kind: 'growing', from: first.records, overMs }
      : { kind: 'fine' };
  }

  #rewound(): Progress | undefined {
    const to = this.#samples.at(-1)?.committed ?? 0;
    const from = Math.max(0, ...this.#samples.map(({ committed }) => committed));
    return from > to ? { kind: 'rewound', from, to } : undefined;
  }
}
