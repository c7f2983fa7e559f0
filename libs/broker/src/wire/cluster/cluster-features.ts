/** The features that a cluster has finalized, as one broker knows them. */
export interface FinalizedFeatures {
  /** Rises with every change; -1 where the broker does not know them yet, or has none. */
  readonly epoch: number;
  readonly levels: ReadonlyMap<string, number>;
}

export const NO_FEATURES: FinalizedFeatures = { epoch: -1, levels: new Map() };

/** What a cluster has agreed on, which versions of requests alone do not tell: every broker says it when a connection is opened. */
export class ClusterFeatures {
  #latest = NO_FEATURES;

  /** Brokers hear of a change one after the other: the highest epoch counts. */
  learn(features: FinalizedFeatures): void {
    if (features.epoch > this.#latest.epoch) this.#latest = features;
  }

  /** 0 where the cluster does not have the feature. */
  levelOf(name: string): number {
    return this.#latest.levels.get(name) ?? 0;
  }
}
