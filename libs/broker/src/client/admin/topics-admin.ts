import type { NewTopic, TopicChange, TopicDescription } from '../../port/admin.js';
import { UnknownTopicError } from '../../port/errors.js';
import {
  createPartitionsRequest,
  createTopicsRequest,
  deleteTopicsRequest,
  errorOfCode,
  metadataRequest,
  type TopicCode,
  type TopicMetadata,
} from '../../wire/index.js';
import { retryOrThrow, type AdminCall, type Retry } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { topicError } from './topic-error.js';
import { waitUntilDeleted, waitUntilReady } from './wait-for-topics.js';
import { COUNT, requireWholeNumber, SMALL_COUNT } from './require-whole-number.js';

const UNKNOWN_TOPIC = 3;
const INVALID_TOPIC_NAME = 17;
const TOPIC_ALREADY_EXISTS = 36;
const INVALID_PARTITIONS = 37;

export class TopicsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  describe(names?: readonly string[]): Promise<readonly TopicDescription[]> {
    return this.calls.run('Describing topics', (call) =>
      call.repeat(async () => {
        const { topics } = await call.request('any', metadataRequest(names ?? 'all'));
        const found: TopicDescription[] = [];
        for (const topic of topics) {
          if (topic.code === UNKNOWN_TOPIC || topic.code === INVALID_TOPIC_NAME) continue;
          if (topic.code !== 0)
            return retryOrThrow(topic.code, topicError(topic, `Describing topic "${topic.name}"`));
          found.push(describe(topic));
        }
        return found;
      }),
    );
  }

  create(topics: readonly NewTopic[]): Promise<readonly TopicChange[]> {
    const names = topics.map(({ name }) => name);
    return this.calls.run(`Creating ${listed(names)}`, async (call) => {
      topics.forEach(requireCounts);
      const changes = await applyToEachTopic(call, names, {
        doing: (name) => `Creating topic "${name}"`,
        request: (open) =>
          createTopicsRequest(
            topics.filter(({ name }) => open.includes(name)),
            call.remainingMs,
          ),
        nothingToDo: TOPIC_ALREADY_EXISTS,
      });
      await waitUntilReady(call, names);
      return changes;
    });
  }

  delete(names: readonly string[]): Promise<readonly TopicChange[]> {
    return this.calls.run(`Deleting ${listed(names)}`, async (call) => {
      const changes = await applyToEachTopic(call, names, {
        doing: (name) => `Deleting topic "${name}"`,
        request: (open) => deleteTopicsRequest(open, call.remainingMs),
        nothingToDo: UNKNOWN_TOPIC,
      });
      await waitUntilDeleted(
        call,
        changes.filter(({ changed }) => changed).map(({ name }) => name),
      );
      return changes;
    });
  }

  createPartitions(topic: string, total: number): Promise<void> {
    return this.calls.run(`Growing topic "${topic}"`, async (call) => {
      requireWholeNumber(`The number of partitions of "${topic}"`, total, COUNT);
      await call.repeat(async () => {
        const answer = await call.request(
          'controller',
          createPartitionsRequest(topic, total, call.remainingMs),
        );
        const { code, message } = codeOf(answer, topic);
        if (code === 0) return;
        const doing = `Growing topic "${topic}" to ${total} partitions`;
        // An attempt whose response was lost may have added the partitions.
        if (
          code === INVALID_PARTITIONS &&
          call.mayHaveTakenEffect &&
          (await hasPartitions(call, topic, total))
        )
          return;
        return retryOrThrow(code, topicError({ name: topic, code, message }, doing));
      });
      await waitUntilReady(call, [topic], total);
    });
  }
}

interface TopicOperation {
  doing(name: string): string;
  request(open: readonly string[]): ReturnType<typeof createTopicsRequest>;
  /** The code for "already in the requested state", such as TOPIC_ALREADY_EXISTS. */
  readonly nothingToDo: number;
}

/**
 * Sends requests to the controller until every topic has a result. A failed topic does not stop the
 * others.
 */
async function applyToEachTopic(
  call: AdminCall,
  names: readonly string[],
  { doing, request, nothingToDo }: TopicOperation,
): Promise<readonly TopicChange[]> {
  const changed = new Map<string, boolean>();
  await call.repeat(async () => {
    const open = names.filter((name) => !changed.has(name));
    if (open.length === 0) return;
    const answer = await call.request('controller', request(open));
    let again: Retry | undefined;
    let refused: Error | undefined;
    for (const name of open) {
      const { code, message } = codeOf(answer, name);
      if (code === 0) changed.set(name, true);
      // After a lost response the change was probably made by an earlier attempt of this call.
      else if (code === nothingToDo) changed.set(name, call.mayHaveTakenEffect);
      else
        try {
          again = retryOrThrow(code, errorOfCode(code, doing(name), message ?? ''));
        } catch (error) {
          refused ??= error as Error;
        }
    }
    if (refused) throw refused;
    return again;
  });
  return names.map((name) => ({ name, changed: changed.get(name) ?? false }));
}

/** Treats a topic that is missing in the response as UNKNOWN_SERVER_ERROR. */
function codeOf(answer: readonly TopicCode[], topic: string): TopicCode {
  return answer.find(({ name }) => name === topic) ?? { name: topic, code: -1, message: null };
}

async function hasPartitions(call: AdminCall, topic: string, total: number): Promise<boolean> {
  await call.refresh([topic]);
  const known = call.cluster.metadata.topic(topic);
  if (known?.code === UNKNOWN_TOPIC) throw new UnknownTopicError(topic);
  return known?.partitions.length === total;
}

function describe({ name, id, internal, partitions }: TopicMetadata): TopicDescription {
  return {
    name,
    id,
    internal,
    partitions: partitions.map(({ partition, leader, leaderEpoch, replicas, inSync }) => ({
      partition,
      leader,
      leaderEpoch,
      replicas,
      inSync,
    })),
  };
}

function requireCounts({ name, partitions, replicationFactor }: NewTopic): void {
  if (partitions !== undefined)
    requireWholeNumber(`The number of partitions of "${name}"`, partitions, COUNT);
  if (replicationFactor !== undefined)
    requireWholeNumber(`The replication factor of "${name}"`, replicationFactor, SMALL_COUNT);
}

function listed(names: readonly string[]): string {
  return `topics ${names.map((name) => `"${name}"`).join(', ')}`;
}
