/** Names the topics of failed records, always after the topic in which a record failed first. */
export interface TopicNamingStrategy {
  /** `tier` counts from 1. */
  retryTopic(topic: string, tier: number): string;
  deadLetterTopic(topic: string): string;
}
