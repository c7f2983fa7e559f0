import { defineRequest, type ApiRequest } from './api-request.js';
import type { BrokerNode } from '../../port/admin.js';

export interface PartitionMetadata {
  readonly code: number;
  readonly partition: number;
  readonly leader: number;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

export interface TopicMetadata {
  readonly code: number;
  readonly name: string;
  readonly id: string | null;
  readonly internal: boolean;
  readonly partitions: readonly PartitionMetadata[];
}

export interface MetadataResponse {
  readonly brokers: readonly BrokerNode[];
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly topics: readonly TopicMetadata[];
}

/** The first version without the authorized operations of the cluster, which we never request. */
const WITHOUT_CLUSTER_OPERATIONS = 11;

/**
 * Requests the metadata of the named topics, or of all topics. Never creates a topic. Version 10
 * (Kafka 2.8) is the first with topic ids.
 */
export function metadataRequest(topics: readonly string[] | 'all'): ApiRequest<MetadataResponse> {
  return defineRequest({
    apiKey: 3,
    apiName: 'Metadata',
    versions: [10, 11, 12],
    flexibleFrom: 9,
    write(writer, version) {
      // The topic id stays empty, because topics are requested by name.
      writer
        .compactArray(topics === 'all' ? null : topics, (topic) =>
          writer.raw(Buffer.alloc(16)).compactString(topic).noTags(),
        )
        .boolean(false)
        .boolean(false);
      if (version < WITHOUT_CLUSTER_OPERATIONS) writer.boolean(false);
      writer.noTags();
    },
    read(reader, version) {
      reader.int32();
      const brokers = reader.compactArray(() => {
        const broker = {
          id: reader.int32(),
          host: reader.compactString(),
          port: reader.int32(),
          rack: reader.compactNullableString(),
        };
        reader.skipTags();
        return broker;
      });
      const clusterId = reader.compactNullableString();
      const controllerId = reader.int32();
      const found = reader.compactArray(() => {
        const code = reader.int16();
        const name = reader.compactString();
        const id = reader.uuid();
        const internal = reader.boolean();
        const partitions = reader.compactArray(() => {
          const partition = {
            code: reader.int16(),
            partition: reader.int32(),
            leader: reader.int32(),
            leaderEpoch: reader.int32(),
            replicas: reader.compactArray(() => reader.int32()),
            inSync: reader.compactArray(() => reader.int32()),
          };
          reader.compactArray(() => reader.int32());
          reader.skipTags();
          return partition;
        });
        reader.int32();
        reader.skipTags();
        partitions.sort((left, right) => left.partition - right.partition);
        return { code, name, id, internal, partitions };
      });
      if (version < WITHOUT_CLUSTER_OPERATIONS) reader.int32();
      reader.skipTags();
      return { brokers, clusterId, controllerId, topics: found };
    },
  });
}
