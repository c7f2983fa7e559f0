import { eventually } from '@nest-event-bus/testing';
import { ConfigResourceTypes } from 'kafkajs';
import { describeWithCluster } from '../support/index.js';
import { createTopic, plainClient, readAll, write } from './plain-client.js';

describeWithCluster('A cluster of three brokers', { brokers: 3 }, (cluster) => {
  it('has three replicas of each record, and acknowledges a record only when two replicas have it', async () => {
    const client = plainClient(cluster().brokers);
    const topic = await createTopic(client);
    const admin = client.admin();
    await admin.connect();
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      expect(topics[0]?.partitions[0]?.replicas.toSorted()).toEqual([0, 1, 2]);
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
      });
      expect(resources[0]?.configEntries).toContainEqual(
        expect.objectContaining({ configName: 'min.insync.replicas', configValue: '2' }),
      );
    } finally {
      await admin.disconnect();
    }
  });

  it('continues while one broker is stopped, and accepts it again after a restart', async () => {
    const client = plainClient(cluster().brokers);
    const topic = await createTopic(client);
    await write(client, topic, 'with three');
    await cluster().kill(1);
    await write(client, topic, 'with two');
    await cluster().restart(1);
    // Duplicates are removed, because the plain client sends at least once: it repeats a request
    // whose response was lost by the kill.
    const read = new Set(await readAll(client, topic, 2));
    expect([...read]).toEqual(['with three', 'with two']);
    await eventually(() => inSyncReplicas(topic), {
      description: 'three replicas in sync',
      timeoutMs: 60_000,
    });
  });

  async function inSyncReplicas(topic: string): Promise<boolean> {
    const admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]?.partitions[0]?.isr.length === 3;
    } finally {
      await admin.disconnect();
    }
  }
});
