/** The finalized features of a cluster, as one broker knows them. */
export interface FinalizedFeatures {
  /**
   * The epoch rises with every change. It is -1 if the broker does not know the features yet, or
   * has none.
   */
  readonly epoch: number;
  readonly levels: ReadonlyMap<string, number>;
}

export const NO_FEATURES: FinalizedFeatures = { epoch: -1, levels: new Map() };

/**
 * The finalized features of the cluster. Brokers send them when a connection is opened. The
 * supported request versions do not show them.
 */
export class ClusterFeatures {
  #latest = NO_FEATURES;

  /**
   * Takes over the features with the highest epoch, because brokers learn of a change one after the
   * other.
   */
  update(features: FinalizedFeatures): void {
    if (features.epoch > this.#latest.epoch) this.#latest = features;
  }

  /** Returns 0 if the cluster does not have the feature. */
  levelOf(name: string): number {
    return this.#latest.levels.get(name) ?? 0;
  }
}
