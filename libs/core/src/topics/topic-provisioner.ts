import type {
  AdminSession,
  DriverLogger,
  NewTopic,
  TopicDescription,
} from '@nest-event-bus/broker';
import type { ResolvedTopics, ResolvedTopicShape } from '../config/resolving/resolved-binding.js';
import { neededTopics, type NeededTopic, type TopicRole, type TopicUser } from './topic-plan.js';

type Topics = Pick<AdminSession, 'topics' | 'createTopics'>;

const DAY_MS = 86_400_000;

/** Action for a missing topic at the start of a binding. */
type MissingTopicAction = 'create' | 'warn' | 'ignore';

/**
 * Returns the action that `provisioning` defines: 'create' creates missing topics, 'verify' warns
 * about them, and 'none' ignores them, except a dead-letter topic with `dlt.verifyTopic`.
 */
export function actionForMissingTopic(
  { provisioning, dlt }: TopicUser,
  role: TopicRole,
): MissingTopicAction {
  switch (provisioning) {
    case 'create':
      return 'create';
    case 'verify':
      // The status of the container already shows that the main topic is missing.
      return role === 'main' ? 'ignore' : 'warn';
    case 'none':
      return role === 'dead-letter' && dlt.verifyTopic ? 'warn' : 'ignore';
  }
}

export function createsTopics(binding: TopicUser): boolean {
  return actionForMissingTopic(binding, 'main') === 'create';
}

/**
 * Returns the retry and dead-letter topics for which a warning is logged if they are missing. With
 * 'create' they are included, because the cluster may have refused to create them.
 */
export function checkedTopics(binding: TopicUser): readonly NeededTopic[] {
  return neededTopics(binding).filter(
    ({ role }) => role !== 'main' && actionForMissingTopic(binding, role) !== 'ignore',
  );
}

/**
 * Creates the missing topics of a binding with `provisioning: 'create'`. Existing topics are not
 * changed.
 */
export class TopicProvisioner {
  constructor(private readonly logger: DriverLogger) {}

  /**
   * Creates the topics, the main topic first, because it decides the number of partitions of the
   * others. Rejects with the first refusal of the cluster. A refused retry topic does not stop the
   * other topics.
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

/**
 * Describes a topic to create. If no number of partitions is configured, a retry or dead-letter
 * topic gets as many as the main topic (`sourcePartitions`), and the broker decides for the main
 * topic.
 */
function newTopic(
  { name, role }: NeededTopic,
  topics: ResolvedTopics,
  sourcePartitions: number,
): NewTopic {
  const { partitions, retentionDays } = shapeOf(role, topics);
  const count = partitions || (role === 'main' ? 0 : sourcePartitions);
  return {
    name,
    ...(count > 0 && { partitions: count }),
    ...(topics.replicationFactor > 0 && { replicationFactor: topics.replicationFactor }),
    ...(retentionDays > 0 && { config: { 'retention.ms': String(retentionDays * DAY_MS) } }),
  };
}

function shapeOf(role: TopicRole, topics: ResolvedTopics): ResolvedTopicShape {
  switch (role) {
    case 'main':
      return topics;
    case 'retry':
      return topics.retry;
    case 'dead-letter':
      return topics.dlt;
  }
}
