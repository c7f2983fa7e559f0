/** The finalized features of a cluster, as one broker knows them. */
export interface FinalizedFeatures {
  /**
   * The epoch of the features, which increases with every change. It is -1 if the broker does not
   * know the features yet, or has none.
   */
  readonly epoch: number;
  readonly levels: ReadonlyMap<string, number>;
}

export const NO_FEATURES: FinalizedFeatures = { epoch: -1, levels: new Map() };

/**
 * The finalized features of the cluster. A broker sends them when a connection is opened. The
 * supported request versions do not contain them.
 */
export class ClusterFeatures {
  #latest = NO_FEATURES;

  /**
   * Stores the features if their epoch is higher, because brokers receive a change at different
   * times.
   */
  update(features: FinalizedFeatures): void {
    if (features.epoch > this.#latest.epoch) this.#latest = features;
  }

  /** Returns 0 if the cluster does not have the feature. */
  levelOf(name: string): number {
    return this.#latest.levels.get(name) ?? 0;
  }
}
