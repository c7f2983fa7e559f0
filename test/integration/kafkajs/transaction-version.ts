import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { Cluster, CONTROL_LANE, ownRequest } from '../../../libs/broker/src/wire/index.js';

const FEATURE = 'transaction.version';
const UPGRADE = 1;
const SAFE_DOWNGRADE = 2;

/** UpdateFeatures, which no part of the product needs. */
const featureUpdate = (level: number, upgradeType: number) =>
  ownRequest({
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

/** DescribeTransactions; what comes before the identity has a fixed length but for its texts. */
const transactionDescription = (transactionalId: string) =>
  ownRequest({
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

async function asking<T>(
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

/** The level of `transaction.version` that a client which connects now is told of. */
export function transactionVersion(brokers: readonly string[]): Promise<number> {
  return asking(brokers, async (cluster) => {
    await cluster.metadata.refresh([]);
    return cluster.features.levelOf(FEATURE);
  });
}

/** As an operator does it, while the cluster is at work. */
export async function finalizeTransactionVersion(
  brokers: readonly string[],
  level: number,
): Promise<void> {
  const present = await transactionVersion(brokers);
  if (present === level) return;
  const upgradeType = level > present ? UPGRADE : SAFE_DOWNGRADE;
  const answer = await asking(brokers, (cluster) =>
    cluster.request('any', CONTROL_LANE, featureUpdate(level, upgradeType)),
  );
  if (answer.code !== 0) throw new Error(`UpdateFeatures: ${answer.code} ${answer.message}`);
  await eventually(async () => (await transactionVersion(brokers)) === level, {
    timeoutMs: 15_000,
    intervalMs: 50,
    description: `${FEATURE} ${level}`,
  });
}

/** The epoch of the producer, as the coordinator of a cluster of one broker knows it. */
export async function producerEpochOf(
  brokers: readonly string[],
  transactionalId: string,
): Promise<number | undefined> {
  const request = transactionDescription(transactionalId);
  const found = await asking(brokers, (cluster) => cluster.request('any', CONTROL_LANE, request));
  return found?.producerEpoch;
}
