import {
  ClosedError,
  DURABLE_PRODUCER,
  GENERAL_PRODUCER,
  type BrokerDriver,
  type ProducerOptions,
} from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedCluster } from '../config/resolving/resolved-options.js';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import { Clusters } from './clusters.js';

const quiet = (): void => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** The clusters of an application with one driver, and the options of the producers that it made. */
function clustersWith(
  capabilities: Partial<BrokerDriver['capabilities']> = {},
  producer: Partial<ResolvedCluster['producer']> = {},
) {
  const runtime = new VirtualRuntime();
  const driver = memory({ runtime, clientId: 'bus' });
  const made: (ProducerOptions | undefined)[] = [];
  const watched: BrokerDriver = {
    name: driver.name,
    capabilities: { ...driver.capabilities, ...capabilities },
    consumer: (options) => driver.consumer(options),
    admin: () => driver.admin(),
    close: () => driver.close(),
    producer: (options) => {
      made.push(options);
      return driver.producer(options);
    },
  };
  const settings = {
    default: {
      driver: watched,
      producer: { ...EVENTBUS_DEFAULTS.cluster.producer, ...producer },
    } as ResolvedCluster,
  };
  return { clusters: new Clusters(settings, runtime, logger), made, runtime };
}

describe('What an application publishes', () => {
  it('is written by the general producer, of which there is one', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.producer('default');
    expect(clusters.producer('default')).toBe(producer);
    expect(made).toEqual([GENERAL_PRODUCER]);
    await clusters.close();
  });

  it('is written as the options of its cluster say', async () => {
    const own = {
      compression: 'snappy',
      lingerMs: 20,
      batchBytes: 32_768,
      bufferBytes: 65_536,
      deliveryTimeoutMs: 60_000,
    } as const;
    const { clusters, made } = clustersWith({}, own);
    clusters.requireCompressions();
    clusters.producer('default');
    clusters.durableProducer('default');
    expect(made).toEqual([
      { ...GENERAL_PRODUCER, ...own },
      expect.objectContaining(DURABLE_PRODUCER),
    ]);
    await clusters.close();
  });

  it('has requests that are over before its time is', async () => {
    const { clusters, made } = clustersWith({}, { deliveryTimeoutMs: 2_000 });
    clusters.producer('default');
    expect(made).toMatchObject([{ deliveryTimeoutMs: 2_000, requestTimeoutMs: 2_000 }]);
    await clusters.close();
  });

  it('is not compressed by what the driver cannot write: the start says so', async () => {
    const { clusters } = clustersWith({ compressions: ['none', 'gzip'] }, { compression: 'zstd' });
    expect(() => clusters.requireCompressions()).toThrow(
      /clusters\.default\.producer\.compression.*'zstd'.*none, gzip/,
    );
    await clusters.close();
  });
});

describe('What goes on to a retry or dead-letter topic', () => {
  it('is written idempotently, at once, and as large as the topic takes it', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.durableProducer('default');
    expect(clusters.durableProducer('default')).toBe(producer);
    expect(made).toEqual([
      {
        idempotent: true,
        lingerMs: 0,
        deliveryTimeoutMs: 600_000,
        maxRequestBytes: 96 * 1024 * 1024,
        bufferBytes: 96 * 1024 * 1024,
      },
    ]);
    await clusters.close();
  });

  it('is compressed by another one, which is made when it is needed', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.compressingProducer('default');
    expect(clusters.compressingProducer('default')).toBe(producer);
    expect(made).toMatchObject([{ idempotent: true, compression: 'gzip' }]);
    await clusters.close();
  });

  it('is not, where the driver cannot', async () => {
    const { clusters, made } = clustersWith({ compressions: ['none'] });
    expect(clusters.compressingProducer('default')).toBeUndefined();
    expect(made).toEqual([]);
    await clusters.close();
  });
});

it('Clusters that are closed open no connection any more', async () => {
  const { clusters, made } = clustersWith();
  await clusters.close();
  for (const use of ['driver', 'producer', 'durableProducer', 'compressingProducer'] as const)
    expect(() => clusters[use]('default')).toThrow(ClosedError);
  expect(made).toEqual([]);
});
