import type { AdminSession, DriverLogger, TopicDescription } from '@nest-event-bus/broker';
import { neededTopics, newTopic, type NeededTopic, type TopicUser } from './topic-plan.js';

type Topics = Pick<AdminSession, 'topics' | 'createTopics'>;

/** Creates the missing topics of a binding with `provisioning: 'create'`. Existing topics are not changed. */
export class TopicProvisioner {
  constructor(private readonly logger: DriverLogger) {}

  /**
   * Creates the main topic first, because its number of partitions decides that of the others. Rejects
   * with the first refusal of the cluster; a refused retry topic does not stop the other topics.
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
