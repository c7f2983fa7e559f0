import type { DltStrategy } from '../model/dlt-strategy.js';
import type { Duration } from './duration.js';

export class DltProperties {
  /** The whole name; without it the topic's name with the suffix. */
  topic?: string;
  topicSuffix?: string;
  strategy?: DltStrategy;
  replay?: DltReplayProperties;
  headerProfile?: readonly ('eventbus' | 'spring' | 'plain')[];
  /** Look at start whether the topic is there, and warn when it is not. */
  verifyTopic?: boolean;
}

export class DltReplayProperties {
  maxReplays?: number;
  cooldownMs?: Duration;
  batchSize?: number;
}
