import { loadMessagingProperties } from '@nest-event-bus/core/presets';
import { catalogueTopics, topicNames, TOPICS } from './topic-catalogue.js';

const DAY_MS = 86_400_000;

/** Name, partitions and days of each main topic. */
const MAIN: readonly (readonly [string, number, number])[] = [
  ['emails', 3, 7],
  ['documents', 6, 7],
  ['payments', 3, 30],
  ['users', 3, 7],
  ['notifications', 3, 3],
  ['receipts', 3, 30],
  ['ocr', 3, 7],
  ['team-events', 3, 7],
  ['admin-events', 3, 7],
  ['elasticsearch', 6, 7],
];
const WITH_FAILURES = MAIN.filter(([name]) => name !== 'notifications');
const topic = (name: string, partitions: number, days: number) => ({
  name: `unraveldocs-${name}`,
  partitions,
  replicationFactor: 1,
  config: { 'retention.ms': String(days * DAY_MS) },
});
const topics = catalogueTopics();

describe('The topic catalogue', () => {
  it.each(MAIN)('has %s with %i partitions for %i days', (name, partitions, days) => {
    expect(topics).toContainEqual(topic(name, partitions, days));
  });

  it('has a retry topic with one partition for one day, of each topic but notifications', () => {
    const expected = WITH_FAILURES.map(([name]) => topic(`${name}-retry`, 1, 1));
    expect(topics.filter(({ name }) => name.endsWith('-retry'))).toEqual(expected);
    expect(expected).toHaveLength(9);
  });

  it('has a dead-letter topic with one partition for 30 days, of each topic but notifications', () => {
    const expected = WITH_FAILURES.map(([name]) => topic(`${name}-dlq`, 1, 30));
    expect(topics.filter(({ name }) => name.endsWith('-dlq'))).toEqual(expected);
    expect(expected).toHaveLength(9);
  });

  it('has 28 topics with names of their own', () => {
    expect(topics).toHaveLength(28);
    expect(new Set(topics.map(({ name }) => name)).size).toBe(28);
  });

  it('has a constant for each topic', () => {
    expect(Object.values(TOPICS).toSorted()).toEqual(topics.map(({ name }) => name).toSorted());
    expect(TOPICS).toMatchObject({
      TOPIC_EMAILS: 'unraveldocs-emails',
      TOPIC_TEAM_EVENTS_RETRY: 'unraveldocs-team-events-retry',
      TOPIC_ELASTICSEARCH_DLQ: 'unraveldocs-elasticsearch-dlq',
    });
  });

  it('takes prefix, partitions, replication factor and retention from the properties', () => {
    const { kafka } = loadMessagingProperties({
      kafka: {
        topicPrefix: 'shop',
        defaultPartitions: 5,
        defaultReplicationFactor: 2,
        defaultRetentionMs: -1,
      },
    });
    const changed = catalogueTopics(kafka);
    expect(changed[0]).toEqual({
      name: 'shop-emails',
      partitions: 5,
      replicationFactor: 2,
      config: { 'retention.ms': '-1' },
    });
    expect(changed.find(({ name }) => name === 'shop-documents')?.partitions).toBe(6);
    expect(topicNames('shop').TOPIC_USERS_DLQ).toBe('shop-users-dlq');
  });
});
