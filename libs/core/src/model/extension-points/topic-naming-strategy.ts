/**
 * Names the topics of failed records. The names always derive from the topic in which a record was
 * first written.
 */
export interface TopicNamingStrategy {
  /** Returns the name of a retry topic. `tier` counts from 1. */
  retryTopic(topic: string, tier: number): string;
  deadLetterTopic(topic: string): string;
}
