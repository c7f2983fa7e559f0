import type { NewTopic, TopicChange, TopicDescription } from '../../../port/admin.js';
import { describeTopic } from '../../broker/memory-cluster.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import type { AdminRequests } from './admin-requests.js';

export class TopicAdmin {
  constructor(private readonly calls: AdminRequests) {}

  describe(names?: readonly string[]): Promise<readonly TopicDescription[]> {
    return this.calls.run({ operation: 'metadata' }, ({ topics }) => {
      const found = names ? names.flatMap((name) => topics.find(name) ?? []) : topics.all();
      return found.map(describeTopic);
    });
  }

  create(wanted: readonly NewTopic[]): Promise<readonly TopicChange[]> {
    const partitions = wanted.map(({ name }) => ({ topic: name, partition: -1 }));
    return this.calls.run({ operation: 'create-topics', partitions }, ({ topics }) =>
      wanted.map((each) =>
        applyChange(each.name, 'TOPIC_ALREADY_EXISTS', () => topics.create(each)),
      ),
    );
  }

  delete(names: readonly string[]): Promise<readonly TopicChange[]> {
    const partitions = names.map((topic) => ({ topic, partition: -1 }));
    return this.calls.run({ operation: 'delete-topics', partitions }, ({ topics }) =>
      names.map((name) =>
        applyChange(name, 'UNKNOWN_TOPIC_OR_PARTITION', () => {
          topics.get(name);
          topics.delete(name);
        }),
      ),
    );
  }

  grow(topic: string, total: number): Promise<void> {
    return this.calls.run(
      { operation: 'create-partitions', partitions: [{ topic, partition: -1 }] },
      ({ topics }) => topics.addPartitions(topic, total),
      { topic },
    );
  }

  config(topic: string): Promise<Readonly<Record<string, string>>> {
    return this.calls.run(
      { operation: 'describe-config', partitions: [{ topic, partition: -1 }] },
      ({ topics }) => topics.get(topic).config.entries(),
      { topic },
    );
  }

  alterConfig(topic: string, changes: Readonly<Record<string, string | null>>): Promise<void> {
    return this.calls.run(
      { operation: 'alter-config', partitions: [{ topic, partition: -1 }] },
      ({ topics }) => topics.get(topic).config.alter(changes),
      { topic },
    );
  }
}

function applyChange(
  name: string,
  nothingToDo: 'TOPIC_ALREADY_EXISTS' | 'UNKNOWN_TOPIC_OR_PARTITION',
  change: () => unknown,
): TopicChange {
  try {
    change();
    return { name, changed: true };
  } catch (error) {
    if (isRefusal(error, nothingToDo)) return { name, changed: false };
    throw error;
  }
}
