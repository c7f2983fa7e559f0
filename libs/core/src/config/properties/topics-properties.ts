import { IsNested, IsWholeNumber } from './property-decorators.js';

/** Describes topics that the bus creates. A topic that exists is left as it is. */
export class TopicShapeProperties {
  /**
   * Sets the partitions of a topic that is created. 0 means as many as the main topic has, and for
   * the main topic the default of the cluster.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 100_000 })
  partitions?: number;

  /**
   * Sets how long records are kept in a topic that is created. 0 means the default of the cluster.
   * A retry topic needs more than its longest delay.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 36_500 })
  retentionDays?: number;
}

/** Describes the topics that the bus creates for a binding. */
export class TopicsProperties extends TopicShapeProperties {
  /**
   * Sets the replication factor of all topics that are created. 0 means the default of the cluster.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 1_000 })
  replicationFactor?: number;

  /** Describes the retry topics that are created. */
  @IsNested(() => TopicShapeProperties)
  retry?: TopicShapeProperties;

  /** Describes the dead-letter topic that is created. */
  @IsNested(() => TopicShapeProperties)
  dlt?: TopicShapeProperties;
}
