/** Names the topics of failed records, always by the topic that they failed in first. */
export interface TopicNamingStrategy {
  /** `tier` counts from 1. */
  retryTopic(topic: string, tier: number): string;
  deadLetterTopic(topic: string): string;
}
