import type { AdminSession, DriverLogger, TopicDescription } from '@nest-event-bus/broker';
import { neededTopics, newTopic, type TopicUser } from './topic-plan.js';

/** Creates the topics of bindings with `provisioning: 'create'`. What exists is left as it is. */
export class TopicProvisioner {
  constructor(private readonly logger: DriverLogger) {}

  /** Rejects with what the cluster says when it refuses. */
  async provision(
    admin: Pick<AdminSession, 'topics' | 'createTopics'>,
    bindings: readonly TopicUser[],
  ): Promise<void> {
    for (const binding of bindings)
      if (binding.provisioning === 'create') await this.#create(admin, binding);
  }

  /** The main topic first: how many partitions it gets says how many the others get. */
  async #create(
    admin: Pick<AdminSession, 'topics' | 'createTopics'>,
    binding: TopicUser,
  ): Promise<void> {
    const needed = neededTopics(binding);
    const existing = await describe(
      admin,
      needed.map(({ name }) => name),
    );
    for (const topic of needed) {
      if (existing.has(topic.name)) continue;
      const source = existing.get(binding.topic)?.partitions.length ?? 0;
      const [change] = await admin.createTopics([newTopic(topic, binding.topics, source)]);
      if (change?.changed)
        this.logger.info('A topic was created', { topic: topic.name, binding: binding.name });
      if (topic.role === 'main')
        for (const [name, found] of await describe(admin, [topic.name])) existing.set(name, found);
    }
  }
}

async function describe(
  admin: Pick<AdminSession, 'topics'>,
  names: readonly string[],
): Promise<Map<string, TopicDescription>> {
  return new Map((await admin.topics(names)).map((topic) => [topic.name, topic]));
}
