import type { AdminSession, DriverLogger, TopicDescription } from '@nest-event-bus/broker';
import { neededTopics, newTopic, type NeededTopic, type TopicUser } from './topic-plan.js';

type Topics = Pick<AdminSession, 'topics' | 'createTopics'>;

/** Creates the topics of a binding with `provisioning: 'create'`. What exists is left as it is. */
export class TopicProvisioner {
  constructor(private readonly logger: DriverLogger) {}

  /**
   * Rejects with what the cluster says when it refuses, after whatever it does not refuse was
   * created. The main topic comes first: how many partitions it gets says how many the others get.
   */
  async provision(admin: Topics, binding: TopicUser): Promise<void> {
    const [main, ...others] = neededTopics(binding);
    if (!main) return;
    const existing = await describe(admin, binding);
    if (!existing.has(main.name)) await this.#create(admin, binding, main, 0);
    const missing = others.filter(({ name }) => !existing.has(name));
    if (missing.length === 0) return;
    const described = existing.get(main.name) ?? (await describe(admin, binding)).get(main.name);
    const partitions = described?.partitions.length ?? 0;
    const refusals: unknown[] = [];
    for (const topic of missing) {
      const created = this.#create(admin, binding, topic, partitions);
      await created.catch((error: unknown) => refusals.push(error));
    }
    if (refusals.length > 0) throw refusals[0];
  }

  async #create(
    admin: Topics,
    binding: TopicUser,
    topic: NeededTopic,
    sourcePartitions: number,
  ): Promise<void> {
    const [change] = await admin.createTopics([newTopic(topic, binding.topics, sourcePartitions)]);
    if (change?.changed)
      this.logger.info('A topic was created', { topic: topic.name, binding: binding.name });
  }
}

async function describe(
  admin: Topics,
  binding: TopicUser,
): Promise<ReadonlyMap<string, TopicDescription>> {
  const names = neededTopics(binding).map(({ name }) => name);
  return new Map((await admin.topics(names)).map((topic) => [topic.name, topic]));
}
