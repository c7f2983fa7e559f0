import { DltStrategy } from '../model/dlt-strategy.js';
import type { Duration } from './duration.js';
import {
  IsDuration,
  IsFlag,
  IsListOf,
  IsNested,
  IsOneOf,
  IsWholeNumber,
} from './property-decorators.js';
import { IsTopicName, IsTopicSuffix } from './topic-name.js';

export type HeaderProfileName = 'eventbus' | 'spring' | 'plain';

export class DltReplayProperties {
  @IsWholeNumber()
  maxReplays?: number;

  @IsDuration()
  cooldownMs?: Duration;

  @IsWholeNumber()
  batchSize?: number;
}

export class DltProperties {
  /** The whole name; without it the topic's name with the suffix. */
  @IsTopicName()
  topic?: string;

  /** Joined to the topic with a dot, unless it begins with '.', '-' or '_'. */
  @IsTopicSuffix()
  topicSuffix?: string;

  @IsOneOf(Object.values(DltStrategy))
  strategy?: DltStrategy;

  @IsNested(() => DltReplayProperties)
  replay?: DltReplayProperties;

  @IsListOf(['eventbus', 'spring', 'plain'])
  headerProfile?: readonly HeaderProfileName[];

  /** Look at start whether the topic is there, and warn when it is not. */
  @IsFlag()
  verifyTopic?: boolean;
}
