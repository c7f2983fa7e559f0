import { IsNested, IsWholeNumber } from './property-decorators.js';

/** Describes topics that the bus creates. An existing topic is not changed. */
export class TopicShapeProperties {
  /**
   * Sets the number of partitions of a topic that the bus creates. 0 means as many as the main
   * topic has; for the main topic it means the default of the cluster.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 100_000 })
  partitions?: number;

  /**
   * Sets how long records are kept in a topic that the bus creates. 0 means the default of the
   * cluster. A retry topic must keep them longer than its longest delay.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 36_500 })
  retentionDays?: number;
}

/** Describes the topics that the bus creates for a binding. */
export class TopicsProperties extends TopicShapeProperties {
  /**
   * Sets the replication factor of all topics that the bus creates. 0 means the default of the
   * cluster.
   *
   * @defaultValue `0`
   */
  @IsWholeNumber({ min: 0, max: 1_000 })
  replicationFactor?: number;

  /** Describes the retry topics that the bus creates. */
  @IsNested(() => TopicShapeProperties)
  retry?: TopicShapeProperties;

  /** Describes the dead-letter topic that the bus creates. */
  @IsNested(() => TopicShapeProperties)
  dlt?: TopicShapeProperties;
}
