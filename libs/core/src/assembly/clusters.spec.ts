import {
  ClosedError,
  DURABLE_PRODUCER,
  GENERAL_PRODUCER,
  type BrokerDriver,
  type ProducerOptions,
} from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { sleep, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedCluster } from '../config/resolving/resolved-options.js';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import { Clusters } from './clusters.js';

const quiet = (): void => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/**
 * Creates the clusters of an application with one driver, and records the options of its producers.
 */
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

describe('Clusters.producer()', () => {
  it('returns one general producer per cluster, however many bindings share the cluster', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.producer('default');
    expect(clusters.producer('default')).toBe(producer);
    expect(made).toEqual([{ ...GENERAL_PRODUCER, missingTopicTimeoutMs: 1_000 }]);
    await clusters.close();
  });

  it('applies the producer options of its cluster', async () => {
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
      { ...GENERAL_PRODUCER, missingTopicTimeoutMs: 1_000, ...own },
      expect.objectContaining(DURABLE_PRODUCER),
    ]);
    await clusters.close();
  });

  it('limits the request timeout to the delivery timeout', async () => {
    const { clusters, made } = clustersWith({}, { deliveryTimeoutMs: 2_000 });
    clusters.producer('default');
    expect(made).toMatchObject([{ deliveryTimeoutMs: 2_000, requestTimeoutMs: 2_000 }]);
    await clusters.close();
  });

  it('requireCompressions() refuses a compression that the driver does not support', async () => {
    const { clusters } = clustersWith({ compressions: ['none', 'gzip'] }, { compression: 'zstd' });
    expect(() => clusters.requireCompressions()).toThrow(
      /clusters\.default\.producer\.compression.*'zstd'.*none, gzip/,
    );
    await clusters.close();
  });
});

describe('Clusters.durableProducer() and compressingProducer()', () => {
  it('write idempotently, without lingering, and leave the size limit to the topic', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.durableProducer('default');
    expect(clusters.durableProducer('default')).toBe(producer);
    expect(made).toEqual([
      {
        idempotent: true,
        lingerMs: 0,
        deliveryTimeoutMs: 600_000,
        missingTopicTimeoutMs: 1_000,
        maxRequestBytes: 96 * 1024 * 1024,
        bufferBytes: 96 * 1024 * 1024,
      },
    ]);
    await clusters.close();
  });

  it('use a separate compressing producer, which is created when it is first needed', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.compressingProducer('default');
    expect(clusters.compressingProducer('default')).toBe(producer);
    expect(made).toMatchObject([{ idempotent: true, compression: 'gzip' }]);
    await clusters.close();
  });

  it('return no compressing producer if the driver cannot compress', async () => {
    const { clusters, made } = clustersWith({ compressions: ['none'] });
    expect(clusters.compressingProducer('default')).toBeUndefined();
    expect(made).toEqual([]);
    await clusters.close();
  });
});

it('Clusters.close() waits for every producer before it closes a driver, so that pending events are sent', async () => {
  const { clusters, runtime } = clustersWith();
  const steps: string[] = [];
  const watch = (name: string, each: { close(): Promise<void> }): void => {
    const close = each.close.bind(each);
    each.close = async () => {
      steps.push(`${name} begins`);
      await sleep(runtime, 100);
      await close();
      steps.push(`${name} ends`);
    };
  };
  watch('producer', clusters.producer('default'));
  watch('producer', clusters.durableProducer('default'));
  watch('producer', clusters.compressingProducer('default')!);
  watch('driver', clusters.driver('default'));
  const closed = clusters.close();
  await runtime.advance(1_000);
  await closed;
  const producers = ['producer begins', 'producer ends'].flatMap((step) => [step, step, step]);
  expect(steps.slice(0, 7)).toEqual([...producers, 'driver begins']);
});

it('Clusters opens no connection after close()', async () => {
  const { clusters, made } = clustersWith();
  await clusters.close();
  for (const use of ['driver', 'producer', 'durableProducer', 'compressingProducer'] as const)
    expect(() => clusters[use]('default')).toThrow(ClosedError);
  expect(made).toEqual([]);
});
