import { IsNested, IsWholeNumber } from './property-decorators.js';

/** Of topics that the bus creates. One that exists is left as it is. */
export class TopicShapeProperties {
  /** 0: as many as the topic whose records failed; for that one itself as the cluster has it. */
  @IsWholeNumber({ min: 0, max: 100_000 })
  partitions?: number;

  /** How long records are kept; 0: as the cluster has it. */
  @IsWholeNumber({ min: 0, max: 36_500 })
  retentionDays?: number;
}

export class TopicsProperties extends TopicShapeProperties {
  /** Of all three kinds; 0: as the cluster has it. */
  @IsWholeNumber({ min: 0, max: 1_000 })
  replicationFactor?: number;

  @IsNested(() => TopicShapeProperties)
  retry?: TopicShapeProperties;

  @IsNested(() => TopicShapeProperties)
  dlt?: TopicShapeProperties;
}
