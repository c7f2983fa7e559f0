import { createSecureContext } from 'node:tls';
import type { ClusterProperties } from '../properties/event-bus-properties.js';
import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { complaintsOf } from '../configuration.spec-support.js';
import { resolveOptions, type OptionLayers } from './resolve-options.js';

const binding = { topic: 'orders.events', groupId: 'order-service' };

const complaints = (options: object, layers: OptionLayers = {}) =>
  complaintsOf(() => resolveOptions(options, layers));

describe('A cluster', () => {
  it('has its defaults', () => {
    expect(resolveOptions({ brokers: 'a:1, b:2,' }).clusters).toEqual({
      default: {
        alias: 'default',
        driver: undefined,
        brokers: ['a:1', 'b:2'],
        clientId: 'nest-event-bus',
        ssl: false,
        sasl: undefined,
        rackId: undefined,
        metadataMaxAgeMs: 10_000,
        producer: {
          compression: 'none',
          lingerMs: 5,
          batchBytes: 16_384,
          bufferBytes: 33_554_432,
          deliveryTimeoutMs: 30_000,
        },
      },
    });
  });

  it("is named by its alias, and the option `brokers` configures the cluster 'default'", () => {
    const { clusters, bindings } = resolveOptions({
      brokers: ['a:1'],
      clusters: {
        default: { clientId: 'shop', ssl: true },
        eu: {
          brokers: '[::1]:9092',
          sasl: { mechanism: 'plain', username: 'me', password: 'secret' },
          rackId: 'r1',
          metadataMaxAgeMs: '3s',
        },
      },
      bindings: { orders: { ...binding, cluster: 'eu' } },
    });
    expect(clusters['default']).toMatchObject({ brokers: ['a:1'], clientId: 'shop', ssl: true });
    expect(clusters['eu']).toMatchObject({
      brokers: ['[::1]:9092'],
      rackId: 'r1',
      metadataMaxAgeMs: 3_000,
    });
    expect(bindings[0]?.cluster).toBe('eu');
  });

  it.each<[object, string]>([
    [
      { brokers: 'kafka' },
      "BROKER_ADDRESS brokers: 'kafka' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { clusters: { eu: { brokers: ['a:1', 'kafka://b:2'] } } },
      "BROKER_ADDRESS clusters.eu.brokers: 'kafka://b:2' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 'a:70000' },
      "BROKER_ADDRESS brokers: 'a:70000' is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 'user:secret@a:1' },
      "BROKER_ADDRESS brokers: an address with credentials is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.",
    ],
    [
      { brokers: 9092 },
      "TEXT brokers: must be one or several addresses: 'host:port', 'host:port,host:port' or a list of them; got 9092.",
    ],
    [
      { driver: {} },
      'REFERENCE driver: must be a broker driver, such as memory() of @nest-event-bus/broker/memory; got an object.',
    ],
    [
      { brokers: 'a:1', clusters: { default: { brokers: 'b:1' } } },
      'CLUSTER_TWICE brokers: is set twice, here and in clusters.default.brokers. Remove one of the two.',
    ],
    [
      { driver: memory({ runtime: new VirtualRuntime() }), brokers: 'a:1' },
      'DRIVER_AND_BROKERS driver: brings its own connections, so brokers beside it would have no effect. Keep the driver or the others.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: { clientId: 'x' } } },
      'BROKERS_MISSING clusters.eu: has neither brokers nor a driver. Give it one of the two, or remove it.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: 'b:1' } },
      "OBJECT clusters.eu: must be a plain object; got 'b:1'.",
    ],
    [
      { brokers: 'a:1', clusters: { eu: { brokers: 'b:1', ssl: 'secret' } } },
      'REFERENCE clusters.eu.ssl: must be true, false or the options of node:tls; got a text.',
    ],
    [
      { brokers: 'a:1', clusters: { eu: { brokers: 'b:1', sasl: 'secret' } } },
      "REFERENCE clusters.eu.sasl: must be an object with a mechanism, such as { mechanism: 'plain', username, password }; got a text.",
    ],
    [
      { clusters: { eu: { brokers: 'b:1', ssl: { cert: 'c', passphrse: 'secret' } } } },
      "UNKNOWN_KEY clusters.eu.ssl.passphrse: there is no option 'passphrse' here. Did you mean 'passphrase'?",
    ],
    [
      { clusters: { eu: { brokers: 'b:1', sasl: { mechanism: 'plain', user: 'secret' } } } },
      "UNKNOWN_KEY clusters.eu.sasl.user: there is no option 'user' here. Known are: mechanism, username, password, oauthBearerProvider, authenticationProvider.",
    ],
    [
      { brokers: 'a:1', clusters: { default: { producer: { bufferBytes: 1_000 } } } },
      'PRODUCER_BUFFER clusters.default.producer.bufferBytes: (1000) is smaller than batchBytes (16384): no batch could ever fill. Raise it, or lower batchBytes.',
    ],
    [
      { brokers: 'a:1', clusters: { default: { producer: { compression: 'snapy' } } } },
      "CHOICE clusters.default.producer.compression: must be one of 'none', 'gzip', 'snappy', 'lz4', 'zstd'; got 'snapy'. Did you mean 'snappy'?",
    ],
    [
      { brokers: 'a:1', bindings: { orders: { ...binding, cluster: 'eu' } } },
      "UNKNOWN_CLUSTER bindings.orders.cluster: there is no cluster 'eu'. Known are: default.",
    ],
    [
      { clusters: { eu: { brokers: 'a:1' } }, bindings: { orders: binding } },
      "UNKNOWN_CLUSTER bindings.orders.cluster: there is no cluster 'default'. Known are: eu.",
    ],
  ])('is refused with a remedy if an option is wrong (case %#)', (options, message) => {
    expect(complaints(options)).toEqual([message]);
  });

  it('accepts all options of a TLS connection', () => {
    const ssl = {
      ca: 'ca',
      rejectUnauthorized: true,
      servername: 'kafka',
      secureContext: createSecureContext(),
      keepAlive: true,
    };
    expect(complaints({ clusters: { eu: { brokers: 'b:1', ssl } } })).toEqual([]);
  });

  it('gets compile errors for incomplete credentials and unknown TLS options', () => {
    const brokers = 'b:1';
    const cluster = (properties: ClusterProperties): ClusterProperties => properties;
    // @ts-expect-error: the password is missing.
    cluster({ brokers, sasl: { mechanism: 'plain', username: 'me' } });
    // @ts-expect-error: TLS has no such option.
    cluster({ brokers, ssl: { passphrse: 'secret' } });
    const sasl = { mechanism: 'SCRAM-SHA-512', username: 'me', password: 'secret' } as const;
    expect(complaints({ clusters: { eu: cluster({ brokers, sasl }) } })).toEqual([]);
  });

  it('prefers the driver of the options to the brokers of a configuration loader', () => {
    const driver = memory({ runtime: new VirtualRuntime() });
    const loaders = [{ brokers: 'a:1', clusters: { default: { ssl: true } } }];
    const { clusters } = resolveOptions({ driver }, { loaders });
    expect(clusters['default']).toMatchObject({ driver, brokers: [], ssl: false });
    const reversed = resolveOptions({ brokers: 'b:1' }, { loaders: [{ driver }] });
    expect(reversed.clusters['default']).toMatchObject({ driver: undefined, brokers: ['b:1'] });
  });

  it('takes from a loader the options that the application does not set', () => {
    const loaders = [{ brokers: 'a:1', clusters: { default: { clientId: 'loaded', ssl: true } } }];
    const { clusters } = resolveOptions(
      { clusters: { default: { clientId: 'own' } } },
      { loaders },
    );
    expect(clusters['default']).toMatchObject({ brokers: ['a:1'], clientId: 'own', ssl: true });
  });

  it('merges producer options of options and loaders key by key, also if it has a driver', () => {
    const driver = memory({ runtime: new VirtualRuntime() });
    const own = { clusters: { default: { driver, producer: { lingerMs: '20ms' } } } } as const;
    const loaded = { brokers: 'a:1', clusters: { default: { producer: { batchBytes: 1_000 } } } };
    const producer = { compression: 'none', lingerMs: 20, batchBytes: 1_000 };
    const { clusters } = resolveOptions(own, { loaders: [loaded] });
    expect(clusters['default']).toMatchObject({ driver, producer });
    expect(Object.isFrozen(clusters['default']?.producer)).toBe(true);
  });
});
