import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import { Deferred, realRuntime, VirtualRuntime } from '../../runtime/index.js';
import { ClusterFeatures, NO_FEATURES } from '../cluster/cluster-features.js';
import { Connection, type ConnectionOptions } from './connection.js';
import {
  connectionOptionsFor,
  NEVER_MS,
  SilentBroker,
  handshakeAccepted,
  authenticated,
} from './silent-broker.spec-support.js';

const CREDENTIALS = { mechanism: 'plain', username: 'u', password: 'p' };

interface CustomExchange {
  saslAuthenticate(message: unknown): Promise<unknown>;
}

describe('Connection that is closed while it opens', () => {
  let broker: SilentBroker;
  beforeEach(async () => (broker = await new SilentBroker().listen()));
  afterEach(() => {
    broker.close();
    jest.restoreAllMocks();
  });

  const connectionTo = (
    options: { sasl?: ConnectionOptions['sasl']; runtime?: VirtualRuntime } = {},
  ): Connection =>
    new Connection({ ...connectionOptionsFor(broker), runtime: realRuntime, ...options });

  it('rejects at once during the TCP connect, and leaves no timer behind', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const connection = connectionTo();
    const opening = connection.open();
    const ofKafkajs = timers.mock.calls.findIndex(([, delayMs]) => delayMs === NEVER_MS);
    expect(ofKafkajs).toBeGreaterThanOrEqual(0);
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
    await new Promise((resolve) => realRuntime.defer(() => resolve(undefined)));
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[ofKafkajs]?.value);
  });

  it('never connects if it is closed before it opens', async () => {
    const connection = connectionTo();
    connection.close();
    await expect(connection.open()).rejects.toThrow(ClosedError);
    const other = connectionTo();
    await other.open();
    expect(broker.sockets).toHaveLength(1);
    other.close();
  });

  it('rejects at once while the broker has not answered the credentials', async () => {
    const connection = connectionTo({ sasl: CREDENTIALS });
    const asked = broker.asked();
    const opening = connection.open();
    await asked;
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
  });

  it('rejects at once while the token provider has not resolved', async () => {
    const wanted = new Deferred();
    const oauthBearerProvider = (): Promise<never> => {
      wanted.resolve();
      return new Promise(() => undefined);
    };
    const connection = connectionTo({ sasl: { mechanism: 'oauthbearer', oauthBearerProvider } });
    broker.onRequest = () => broker.sockets[0]?.write(handshakeAccepted('OAUTHBEARER'));
    const opening = connection.open();
    await wanted.promise;
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
  });

  it('times out if the broker does not answer the credentials', async () => {
    const runtime = new VirtualRuntime();
    const connection = connectionTo({ sasl: CREDENTIALS, runtime });
    const asked = broker.asked();
    const opening = connection.open();
    opening.catch(() => undefined);
    await asked;
    await runtime.advance(10_000);
    await expect(opening).rejects.toThrow(RequestTimeoutError);
  });
});

describe('Connection with a custom SASL mechanism', () => {
  it('authenticates with the provider of the user', async () => {
    const broker = await new SilentBroker().listen();
    const answers = [handshakeAccepted('X-TOKEN'), authenticated('welcome')];
    broker.onRequest = () => broker.sockets[0]?.write(answers.shift() ?? '');
    const spoken: unknown[] = [];
    const authenticationProvider = ({ saslAuthenticate }: CustomExchange) => ({
      authenticate: async () => {
        const request = { encode: async () => Buffer.from('let me in') };
        const response = { decode: async (bytes: Buffer) => bytes.subarray(4), parse: String };
        spoken.push(await saslAuthenticate({ request, response }));
      },
    });
    const connection = new Connection({
      ...connectionOptionsFor(broker),
      runtime: realRuntime,
      sasl: { mechanism: 'x-token', authenticationProvider },
    });
    await connection.open();
    expect(spoken).toEqual(['welcome']);
    connection.close();
    broker.close();
  });
});

describe('ApiVersions request', () => {
  it.each([
    [3, [3], 2],
    [2, [3, 2], 0],
  ])(
    'is requested in the newest version that the broker supports, %i',
    async (newest, asked, transactionVersion) => {
      const broker = await new SilentBroker().listen();
      broker.newest = newest;
      const connection = new Connection({ ...connectionOptionsFor(broker), runtime: realRuntime });
      await connection.open();
      expect(broker.versionsAsked).toEqual(asked);
      expect(connection.versions[3]).toEqual({ minVersion: 0, maxVersion: 12 });
      expect(connection.features.levels.get('transaction.version') ?? 0).toBe(transactionVersion);
      connection.close();
      broker.close();
    },
  );

  it('returns the features of the response with the highest epoch, whichever broker sent it', () => {
    const features = new ClusterFeatures();
    const learn = (epoch: number, level: number) =>
      features.update({ epoch, levels: new Map([['transaction.version', level]]) });
    expect(features.levelOf('transaction.version')).toBe(0);
    learn(5, 1);
    learn(7, 2);
    learn(6, 1);
    features.update(NO_FEATURES);
    expect(features.levelOf('transaction.version')).toBe(2);
    expect(features.levelOf('group.version')).toBe(0);
  });
});
