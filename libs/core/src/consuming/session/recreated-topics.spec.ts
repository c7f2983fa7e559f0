import type { PartitionLane } from '../lanes/partition-lane.js';
import { KnownTopicIds, RecreatedTopics, type RecreatedTopicsParts } from './recreated-topics.js';

interface FakeLane {
  readonly topic: string;
  readonly partition: number;
  readonly stopCommitting: jest.Mock;
}

const fakeLane = (): PartitionLane & FakeLane =>
  ({
    topic: 'orders',
    partition: 0,
    stopCommitting: jest.fn(),
  }) as Partial<PartitionLane> as PartitionLane & FakeLane;

describe('RecreatedTopics.onRevoked', () => {
  let topicId: string | null;
  let assigned: PartitionLane & FakeLane;
  let topics: RecreatedTopics;

  beforeEach(() => {
    topicId = 'first';
    assigned = fakeLane();
    topics = new RecreatedTopics({
      knownIds: new KnownTopicIds(),
      topics: ['orders'],
      lanes: { get: () => assigned },
      topicIdOf: () => topicId,
    } as unknown as RecreatedTopicsParts);
    topics.onAssigned([{ topic: 'orders', partition: 0, position: 0, committed: null }]);
  });

  it('stops the commits of a lane whose topic has another id now', () => {
    topicId = 'second';
    topics.onRevoked([assigned]);
    expect(assigned.stopCommitting).toHaveBeenCalled();
  });

  it('stops the commits of a lane that began with a reset to another offset', () => {
    const next = fakeLane();
    topics.onReset(assigned, next);
    topicId = 'second';
    topics.onRevoked([next]);
    expect(next.stopCommitting).toHaveBeenCalled();
  });

  it.each(['first', null])('lets a lane commit while the id of its topic is %s', (id) => {
    topicId = id;
    topics.onRevoked([assigned]);
    expect(assigned.stopCommitting).not.toHaveBeenCalled();
  });
});
