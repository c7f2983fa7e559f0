import type { BrokerDriver, ProducerOptions } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedCluster } from '../config/resolved-options.js';
import { Clusters } from './clusters.js';

const quiet = (): void => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** The clusters of an application with one driver, and the options of the producers that it made. */
function clustersWith(capabilities: Partial<BrokerDriver['capabilities']> = {}) {
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
  const settings = { default: { driver: watched } as ResolvedCluster };
  return { clusters: new Clusters(settings, runtime, logger), made, runtime };
}

describe('What goes on to a retry or dead-letter topic', () => {
  it('is written idempotently, at once, and as large as the topic takes it', async () => {
    const { clusters, made } = clustersWith();
    const producer = clusters.durableProducer('default');
    expect(clusters.durableProducer('default')).toBe(producer);
    expect(made).toEqual([
      {
        idempotent: true,
        lingerMs: 0,
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
