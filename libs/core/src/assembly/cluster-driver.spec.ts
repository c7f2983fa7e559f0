import { memory } from '@nest-event-bus/broker/memory';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import { Clusters } from './clusters.js';

jest.mock('@nest-event-bus/broker/kafkajs', () => ({ kafkajs: jest.fn() }));

const quiet = (): void => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

describe('The Kafka driver of a cluster', () => {
  it('gets every option of the cluster, and the clock and the logger of the bus', async () => {
    const runtime = new VirtualRuntime();
    jest.mocked(kafkajs).mockReturnValue(memory({ runtime }));
    const options = {
      brokers: ['kafka:9092'],
      clientId: 'shop',
      ssl: { ca: 'certificate' },
      sasl: { mechanism: 'plain', username: 'shop', password: 'secret' },
      rackId: 'a',
      metadataMaxAgeMs: 60_000,
    } as const;
    const { producer } = EVENTBUS_DEFAULTS.cluster;
    const clusters = new Clusters(
      { europe: { ...options, alias: 'europe', driver: undefined, producer } },
      runtime,
      logger,
    );
    clusters.driver('europe');
    expect(kafkajs).toHaveBeenCalledWith({ ...options, runtime, logger });
    await clusters.close();
  });
});
