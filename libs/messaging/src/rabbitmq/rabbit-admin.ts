import {
  ClosedError,
  InvalidOptionError,
  UnsupportedError,
  type AdminSession,
  type BrokerRecord,
  type ClusterDescription,
  type NewTopic,
  type TopicChange,
  type TopicDescription,
} from '@nest-event-bus/broker';
import { within } from '@nest-event-bus/broker/runtime';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { missingFeature } from './publish-channel.js';
import { connectionErrorOf, NOT_FOUND, refusalOf, replyCodeOf } from './rabbit-errors.js';
import type { RabbitMqSettings } from './rabbit-options.js';

const TIMEOUT_MS = 10_000;

/** Creates, finds and deletes topics, which are exchanges. What RabbitMQ cannot say is refused. */
export class RabbitAdmin implements AdminSession {
  #model: Promise<ChannelModel> | undefined;
  #isClosed = false;

  constructor(private readonly settings: RabbitMqSettings) {}

  async cluster(): Promise<ClusterDescription> {
    const { connection } = await this.#connection();
    const { host, port } = this.settings;
    const clusterName = connection.serverProperties['cluster_name'] ?? null;
    const brokers = [{ id: 0, host, port, rack: null }];
    return { clusterId: clusterName, controllerId: -1, brokers };
  }

  async topics(names?: readonly string[]): Promise<readonly TopicDescription[]> {
    if (!names) throw unsupported('list all topics');
    const found = await Promise.all(names.map(async (name) => (await this.#exists(name)) && name));
    return found
      .filter((name) => name !== false)
      .map((name) => ({ name, id: null, internal: false, partitions: [PARTITION] }));
  }

  async createTopics(topics: readonly NewTopic[]): Promise<readonly TopicChange[]> {
    for (const topic of topics) checkTopic(topic);
    const changes: TopicChange[] = [];
    for (const { name } of topics) {
      const isThere = await this.#exists(name);
      if (!isThere)
        await this.#onChannel(`create the exchange of topic "${name}"`, (channel) =>
          channel.assertExchange(this.settings.exchangeOf(name), 'fanout', { durable: true }),
        );
      changes.push({ name, changed: !isThere });
    }
    return changes;
  }

  async deleteTopics(names: readonly string[]): Promise<readonly TopicChange[]> {
    const changes: TopicChange[] = [];
    for (const name of names) {
      const isThere = await this.#exists(name);
      if (isThere)
        await this.#onChannel(`delete the exchange of topic "${name}"`, (channel) =>
          channel.deleteExchange(this.settings.exchangeOf(name)),
        );
      changes.push({ name, changed: isThere });
    }
    return changes;
  }

  createPartitions(): Promise<never> {
    return refuse('add partitions');
  }

  topicConfig(): Promise<never> {
    return refuse('show the settings of a topic');
  }

  alterTopicConfig(): Promise<never> {
    return refuse('change the settings of a topic');
  }

  watermarks(): Promise<never> {
    return refuse('return offsets');
  }

  offsetsAt(): Promise<never> {
    return refuse('return offsets');
  }

  deleteRecords(): Promise<never> {
    return refuse('delete records by their offset');
  }

  groups(): Promise<never> {
    return refuse('list groups');
  }

  describeGroup(): Promise<never> {
    return refuse('describe groups');
  }

  groupOffsets(): Promise<never> {
    return refuse('return offsets');
  }

  setGroupOffsets(): Promise<never> {
    return refuse('set offsets');
  }

  deleteGroupOffsets(): Promise<never> {
    return refuse('delete offsets');
  }

  deleteGroup(): Promise<never> {
    return refuse('delete groups');
  }

  readRange(): AsyncIterable<BrokerRecord> {
    throw unsupported('read records by their offset');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const model = await this.#model?.catch(() => undefined);
    await model?.close().catch(() => undefined);
  }

  async #exists(name: string): Promise<boolean> {
    const what = `look for the exchange of topic "${name}"`;
    return this.#onChannel(what, async (channel) => {
      try {
        await channel.checkExchange(this.settings.exchangeOf(name));
        return true;
      } catch (error) {
        if (replyCodeOf(error) === NOT_FOUND) return false;
        throw error;
      }
    });
  }

  /** Uses a channel of its own, because the server closes a channel with each refusal. */
  async #onChannel<T>(what: string, work: (channel: Channel) => Promise<T>): Promise<T> {
    const model = await this.#connection();
    const channel = await model.createChannel().catch((cause: unknown) => {
      throw connectionErrorOf(cause, this.settings.place);
    });
    let isOpen = true;
    channel.on('error', () => undefined);
    channel.on('close', () => (isOpen = false));
    try {
      return await work(channel);
    } catch (cause) {
      throw refusalOf(cause, what);
    } finally {
      if (isOpen) await channel.close().catch(() => undefined);
    }
  }

  /** Returns the open connection, or opens one. The next call replaces one that was lost. */
  #connection(): Promise<ChannelModel> {
    if (this.#isClosed)
      return Promise.reject(new ClosedError('The admin session of RabbitMQ is closed.'));
    this.#model ??= this.#connect();
    return this.#model;
  }

  async #connect(): Promise<ChannelModel> {
    const { url, connectionTimeoutMs, place, runtime } = this.settings;
    try {
      const connecting = connect(url, { timeout: connectionTimeoutMs });
      const model = await within(runtime, TIMEOUT_MS, connecting, () => {
        void closeLate(connecting);
        return new Error('no answer');
      });
      model.on('error', () => undefined);
      model.on('close', () => (this.#model = undefined));
      const missing = missingFeature(model.connection.serverProperties);
      if (!missing) return model;
      await model.close();
      throw missing;
    } catch (cause) {
      this.#model = undefined;
      throw cause instanceof UnsupportedError ? cause : connectionErrorOf(cause, place);
    }
  }
}

/** Closes a connection that opens after nobody waits for it any more. Never rejects. */
async function closeLate(connecting: Promise<ChannelModel>): Promise<void> {
  try {
    const late = await connecting;
    late.on('error', () => undefined);
    await late.close();
  } catch {
    // A connection that does not open, or is lost, leaves nothing to close.
  }
}

/** What a topic has for those who know partitions: one, with an unknown leader. */
const PARTITION = { partition: 0, leader: -1, leaderEpoch: -1, replicas: [], inSync: [] } as const;

const unsupported = (what: string): UnsupportedError =>
  new UnsupportedError(`RabbitMQ cannot ${what}. Use Kafka for that, or the tools of RabbitMQ.`);

const refuse = (what: string): Promise<never> => Promise.reject(unsupported(what));

function checkTopic({ name, partitions = 1, config }: NewTopic): void {
  if (typeof name !== 'string' || name === '')
    throw new InvalidOptionError('A topic needs a name that is not empty.');
  if (partitions > 1)
    throw new UnsupportedError(
      `RabbitMQ has no partitions, and topic "${name}" is asked for with ${partitions}. Leave the number out.`,
    );
  const [setting] = Object.keys(config ?? {});
  if (setting !== undefined)
    throw new UnsupportedError(
      `An exchange of RabbitMQ keeps no messages, so topic "${name}" has no ${setting}. Leave it out.`,
    );
}
