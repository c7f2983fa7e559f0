import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { Cluster, CONTROL_CHANNEL, defineRequest } from '../../../libs/broker/src/wire/index.js';

const FEATURE = 'transaction.version';
const UPGRADE = 1;
const SAFE_DOWNGRADE = 2;

/** The request UpdateFeatures, which only this test needs. */
const updateFeaturesRequest = (level: number, upgradeType: number) =>
  defineRequest({
    apiKey: 57,
    apiName: 'UpdateFeatures',
    versions: [1],
    flexibleFrom: 0,
    write: (writer) =>
      writer
        .int32(10_000)
        .compactArray([FEATURE], (name) =>
          writer.compactString(name).int16(level).int8(upgradeType).noTags(),
        )
        .boolean(false)
        .noTags(),
    read: (reader) => {
      reader.int32();
      return { code: reader.int16(), message: reader.compactNullableString() };
    },
  });

/**
 * The request DescribeTransactions. The reader skips the timeout and the start time before the
 * producer id.
 */
const describeTransactionsRequest = (transactionalId: string) =>
  defineRequest({
    apiKey: 65,
    apiName: 'DescribeTransactions',
    versions: [0],
    flexibleFrom: 0,
    write: (writer) =>
      writer.compactArray([transactionalId], (id) => writer.compactString(id)).noTags(),
    read: (reader) => {
      reader.int32();
      return reader.compactArray(() => {
        const [code, id, state] = [reader.int16(), reader.compactString(), reader.compactString()];
        reader.int32();
        reader.int64();
        return { code, id, state, producerId: reader.bigint64(), producerEpoch: reader.int16() };
      })[0];
    },
  });

async function withCluster<T>(
  brokers: readonly string[],
  ask: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = new Cluster({
    brokers,
    clientId: 'features',
    connectionTimeoutMs: 5_000,
    requestTimeoutMs: 15_000,
    runtime: realRuntime,
  });
  try {
    return await ask(cluster);
  } finally {
    cluster.close();
  }
}

/** Returns the level of `transaction.version` that a new connection receives. */
export function transactionVersion(brokers: readonly string[]): Promise<number> {
  return withCluster(brokers, async (cluster) => {
    await cluster.metadata.refresh([]);
    return cluster.features.levelOf(FEATURE);
  });
}

/** Finalizes the level as an operator does, while the cluster is in use. */
export async function finalizeTransactionVersion(
  brokers: readonly string[],
  level: number,
): Promise<void> {
  const present = await transactionVersion(brokers);
  if (present === level) return;
  const upgradeType = level > present ? UPGRADE : SAFE_DOWNGRADE;
  const answer = await withCluster(brokers, (cluster) =>
    cluster.request('any', CONTROL_CHANNEL, updateFeaturesRequest(level, upgradeType)),
  );
  if (answer.code !== 0) throw new Error(`UpdateFeatures: ${answer.code} ${answer.message}`);
  await eventually(async () => (await transactionVersion(brokers)) === level, {
    timeoutMs: 60_000,
    intervalMs: 50,
    description: `${FEATURE} ${level}`,
  });
}

/** Returns the producer's epoch as the coordinator of a one-broker cluster knows it. */
export async function producerEpochOf(
  brokers: readonly string[],
  transactionalId: string,
): Promise<number | undefined> {
  const request = describeTransactionsRequest(transactionalId);
  const found = await withCluster(brokers, (cluster) =>
    cluster.request('any', CONTROL_CHANNEL, request),
  );
  return found?.producerEpoch;
}
