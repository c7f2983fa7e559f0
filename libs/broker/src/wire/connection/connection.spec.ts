import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ClosedError, ConnectionError, RequestTimeoutError } from '../../port/errors.js';
import { Deferred, realRuntime, VirtualRuntime } from '../../runtime/index.js';
import { defineRequest } from '../requests/api-request.js';
import { Cluster } from '../cluster/cluster.js';
import { ClusterFeatures, NO_FEATURES } from '../cluster/cluster-features.js';
import { Connection, type ConnectionOptions } from './connection.js';
import { metadataRequest } from '../requests/metadata-request.js';
import { Writer } from '../requests/writer.js';

/** A time longer than any test, so that a forgotten wait fails the test. */
const FOR_EVER_MS = 600_000;
const API_VERSIONS = 18;
const NOBODY_ANSWERS = { mechanism: 'plain', username: 'u', password: 'p' };

interface CustomExchange {
  saslAuthenticate(message: unknown): Promise<unknown>;
}

/** A broker that answers ApiVersions and no other request. */
class SilentBroker {
  readonly sockets: Socket[] = [];
  readonly #server: Server = createServer((socket) => {
    this.sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (request: Buffer) => {
      if (request.readInt16BE(4) !== API_VERSIONS) return this.#hear(request, socket);
      const version = request.readInt16BE(6);
      this.versionsAsked.push(version);
      const body = version > this.newest ? this.#refusal() : this.#versions(version);
      const head = Buffer.alloc(8);
      head.writeInt32BE(4 + body.length, 0);
      request.copy(head, 4, 8, 12);
      socket.write(Buffer.concat([head, body]));
    });
  });
  /** The newest version of ApiVersions that the broker supports. */
  newest = 3;
  readonly versionsAsked: number[] = [];
  /** Called for each request that gets no answer. */
  heard: ((request: Buffer, socket: Socket) => void) | undefined;

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Splits the bytes, because several requests may arrive in one chunk. */
  #hear(bytes: Buffer, socket: Socket): void {
    for (let rest = bytes; rest.length > 0;) {
      const length = 4 + rest.readInt32BE(0);
      this.heard?.(rest.subarray(0, length), socket);
      rest = rest.subarray(length);
    }
  }

  #versions(version: number): Buffer {
    const writer = new Writer().int16(0);
    const keys = [API_VERSIONS, 3, 17, 36];
    if (version < 3)
      return writer
        .array(keys, (key) => writer.int16(key).int16(0).int16(12))
        .int32(0)
        .toBuffer();
    writer.compactArray(keys, (key) => writer.int16(key).int16(0).int16(12).noTags()).int32(0);
    const features = new Writer();
    features.compactArray(['transaction.version'], (name) =>
      features.compactString(name).int16(2).int16(0).noTags(),
    );
    const tagged = [Buffer.from('ignored'), new Writer().int64(7).toBuffer(), features.toBuffer()];
    writer.unsignedVarint(tagged.length);
    for (const [tag, bytes] of tagged.entries())
      writer.unsignedVarint(tag).unsignedVarint(bytes.length).raw(bytes);
    return writer.toBuffer();
  }

  /** Refuses in version 0, whatever version was requested. */
  #refusal(): Buffer {
    const writer = new Writer().int16(35);
    return writer
      .array([API_VERSIONS], (key) => writer.int16(key).int16(0).int16(this.newest))
      .toBuffer();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when a request arrives that gets no answer. */
  asked(): Promise<void> {
    return new Promise((resolve) => (this.heard = () => resolve()));
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}

const to = ({ port }: SilentBroker) => ({
  host: '127.0.0.1',
  port,
  clientId: 'spec',
  connectionTimeoutMs: FOR_EVER_MS,
});

describe('Connection that is closed while it opens', () => {
  let broker: SilentBroker;
  beforeEach(async () => (broker = await new SilentBroker().listen()));
  afterEach(() => {
    broker.close();
    jest.restoreAllMocks();
  });

  const connectionTo = (
    options: { sasl?: ConnectionOptions['sasl']; runtime?: VirtualRuntime } = {},
  ): Connection => new Connection({ ...to(broker), runtime: realRuntime, ...options });

  it('rejects at once during the TCP connect, and leaves no timer behind', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const connection = connectionTo();
    const opening = connection.open();
    const ofKafkajs = timers.mock.calls.findIndex(([, delayMs]) => delayMs === FOR_EVER_MS);
    expect(ofKafkajs).toBeGreaterThanOrEqual(0);
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
    await new Promise((resolve) => realRuntime.defer(() => resolve(undefined)));
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[ofKafkajs]?.value);
  });

  it('never connects if it was closed before, because nobody would close that socket', async () => {
    const connection = connectionTo();
    connection.close();
    await expect(connection.open()).rejects.toThrow(ClosedError);
    const other = connectionTo();
    await other.open();
    expect(broker.sockets).toHaveLength(1);
    other.close();
  });

  it('rejects at once while the credentials are not answered', async () => {
    const connection = connectionTo({ sasl: NOBODY_ANSWERS });
    const asked = broker.asked();
    const opening = connection.open();
    await asked;
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
  });

  it('rejects at once while the token provider has not returned', async () => {
    const wanted = new Deferred();
    const oauthBearerProvider = (): Promise<never> => {
      wanted.resolve();
      return new Promise(() => undefined);
    };
    const connection = connectionTo({ sasl: { mechanism: 'oauthbearer', oauthBearerProvider } });
    broker.heard = () => broker.sockets[0]?.write(handshakeAccepted('OAUTHBEARER'));
    const opening = connection.open();
    await wanted.promise;
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
  });

  it('times out if the credentials are not answered', async () => {
    const runtime = new VirtualRuntime();
    const connection = connectionTo({ sasl: NOBODY_ANSWERS, runtime });
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
    broker.heard = () => broker.sockets[0]?.write(answers.shift() ?? '');
    const spoken: unknown[] = [];
    const authenticationProvider = ({ saslAuthenticate }: CustomExchange) => ({
      authenticate: async () => {
        const request = { encode: async () => Buffer.from('let me in') };
        const response = { decode: async (bytes: Buffer) => bytes.subarray(4), parse: String };
        spoken.push(await saslAuthenticate({ request, response }));
      },
    });
    const connection = new Connection({
      ...to(broker),
      runtime: realRuntime,
      sasl: { mechanism: 'x-token', authenticationProvider },
    });
    await connection.open();
    expect(spoken).toEqual(['welcome']);
    connection.close();
    broker.close();
  });
});

describe('ApiVersions', () => {
  it.each([
    [3, [3], 2],
    [2, [3, 2], 0],
  ])(
    'is requested in the newest version that the broker supports, %i',
    async (newest, asked, transactionVersion) => {
      const broker = await new SilentBroker().listen();
      broker.newest = newest;
      const connection = new Connection({ ...to(broker), runtime: realRuntime });
      await connection.open();
      expect(broker.versionsAsked).toEqual(asked);
      expect(connection.versions[3]).toEqual({ minVersion: 0, maxVersion: 12 });
      expect(connection.features.levels.get('transaction.version') ?? 0).toBe(transactionVersion);
      connection.close();
      broker.close();
    },
  );

  it('returns features of which the highest epoch counts, whichever broker sent them', () => {
    const features = new ClusterFeatures();
    const told = (epoch: number, level: number) =>
      features.update({ epoch, levels: new Map([['transaction.version', level]]) });
    expect(features.levelOf('transaction.version')).toBe(0);
    told(5, 1);
    told(7, 2);
    told(6, 1);
    features.update(NO_FEATURES);
    expect(features.levelOf('transaction.version')).toBe(2);
    expect(features.levelOf('group.version')).toBe(0);
  });
});

const question = defineRequest({
  apiKey: 3,
  apiName: 'Question',
  versions: [0],
  write: () => undefined,
  read: (reader) => reader.int32(),
});

/** The response to `question`, with a throttle time. */
function restingAnswer(request: Buffer, restMs: number): Buffer {
  const answer = Buffer.alloc(12);
  answer.writeInt32BE(8, 0);
  request.copy(answer, 4, 8, 12);
  answer.writeInt32BE(restMs, 8);
  return answer;
}

describe('Connection to a throttling broker', () => {
  const FIVE_SECONDS = 5_000;
  let broker: SilentBroker;
  let runtime: VirtualRuntime;
  let connection: Connection;
  /** The throttle time of each response. */
  let restMs: number;
  let asked: number;
  /** If set, collects the responses instead of sending them. */
  let held: (() => void)[] | undefined;

  beforeEach(async () => {
    broker = await new SilentBroker().listen();
    runtime = new VirtualRuntime();
    asked = 0;
    held = undefined;
    broker.heard = (request) => {
      asked++;
      const answer = restingAnswer(request, restMs);
      const send = (): void => void broker.sockets[0]?.write(answer);
      if (held) held.push(send);
      else send();
    };
    connection = new Connection({ ...to(broker), runtime });
    await connection.open();
  });
  afterEach(() => {
    connection.close();
    broker.close();
  });

  const ask = (): Promise<number> => connection.exchange(question, { timeoutMs: 1_000 });

  /**
   * Advances the time and waits for some round trips, and checks that the broker got no request
   * meanwhile.
   */
  async function advanceQuietly(milliseconds: number): Promise<void> {
    await runtime.advance(milliseconds);
    const other = new Connection({ ...to(broker), runtime: realRuntime });
    await other.open();
    other.close();
    expect(asked).toBe(1);
  }

  it('sends nothing during the throttle time, which does not count towards the request timeout', async () => {
    restMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    await advanceQuietly(FIVE_SECONDS - 1);
    await runtime.advance(1);
    expect(await next).toBe(FIVE_SECONDS);
    expect(asked).toBe(2);
  });

  it('limits the throttle time', async () => {
    restMs = 2 ** 31 - 1;
    await ask();
    const next = ask();
    await advanceQuietly(59_999);
    await runtime.advance(1);
    await next;
    expect(asked).toBe(2);
  });

  it('rejects at once when it is closed while throttled', async () => {
    restMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    connection.close();
    await expect(next).rejects.toThrow(ClosedError);
  });

  it('does not send a request that was aborted while throttled', async () => {
    restMs = FIVE_SECONDS;
    await ask();
    const control = new AbortController();
    const options = { timeoutMs: 1_000, signal: control.signal };
    const givenUp = connection.exchange(question, options).catch((error: Error) => error.message);
    const next = ask();
    control.abort();
    await runtime.advance(FIVE_SECONDS);
    await next;
    expect(await givenUp).toBe('The request was given up before it left.');
    expect(asked).toBe(2);
  });

  describe('while another request waits for its response', () => {
    /** The first response throttles; the second one is held back. */
    async function waitingOne(): Promise<{ waiting: Promise<number>; answer: () => void }> {
      restMs = FIVE_SECONDS;
      held = [];
      const [first, waiting] = [ask(), ask()];
      waiting.catch(() => undefined);
      while (held.length < 2) await runtime.settle();
      held[0]?.();
      await first;
      return { waiting, answer: () => held?.[1]?.() };
    }

    it('extends the deadline of that request by the throttle time', async () => {
      const { waiting, answer } = await waitingOne();
      await runtime.advance(FIVE_SECONDS + 999);
      answer();
      expect(await waiting).toBe(FIVE_SECONDS);
    });

    it('extends the deadline by one minute at most, however often the broker throttles', async () => {
      restMs = 60_000;
      held = [];
      const [first, second, waiting] = [ask(), ask(), ask()];
      waiting.catch(() => undefined);
      while (held.length < 3) await runtime.settle();
      held[0]?.();
      await first;
      await runtime.advance(50_000);
      held[1]?.();
      await second;
      await runtime.advance(10_999);
      const settled = jest.fn();
      void waiting.catch(settled);
      await runtime.settle();
      expect(settled).not.toHaveBeenCalled();
      await runtime.advance(1);
      await expect(waiting).rejects.toThrow(RequestTimeoutError);
    });

    it('times that request out after the extended deadline', async () => {
      const { waiting } = await waitingOne();
      await runtime.advance(FIVE_SECONDS + 1_000);
      await expect(waiting).rejects.toThrow(RequestTimeoutError);
    });
  });
});

describe('Cluster with a throttling broker', () => {
  const REST_MS = 60_000;
  let brokers: readonly SilentBroker[];
  let runtime: VirtualRuntime;
  let cluster: Cluster;
  /** The index of the broker that received each request. */
  let heard: number[];
  let restOf: (broker: number) => number;

  beforeEach(async () => {
    brokers = [await new SilentBroker().listen(), await new SilentBroker().listen()];
    runtime = new VirtualRuntime();
    heard = [];
    for (const [number, broker] of brokers.entries())
      broker.heard = (request, socket) => {
        heard.push(number);
        socket.write(restingAnswer(request, restOf(number)));
      };
    cluster = new Cluster({
      brokers: brokers.map(({ port }) => `127.0.0.1:${port}`),
      clientId: 'spec',
      connectionTimeoutMs: FOR_EVER_MS,
      requestTimeoutMs: FOR_EVER_MS,
      runtime,
    });
  });
  afterEach(() => {
    cluster.close();
    for (const broker of brokers) broker.close();
  });

  it('does not send a request whose signal aborted while throttled', async () => {
    restOf = () => REST_MS;
    const node = { id: 5, host: '127.0.0.1', port: brokers[0]?.port ?? 0, rack: null };
    cluster.metadata.update({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    const ask = (signal?: AbortSignal) =>
      cluster.request(5, 'channel', question, { ...(signal && { signal }) });
    await ask();
    const control = new AbortController();
    const givenUp = ask(control.signal);
    await runtime.settle();
    control.abort(new Error('enough'));
    await expect(givenUp).rejects.toThrow('enough');
    const next = ask();
    await runtime.advance(REST_MS);
    await next;
    expect(heard).toHaveLength(2);
  });

  it('asks another broker meanwhile if any broker can answer', async () => {
    restOf = (number) => (number === 0 ? REST_MS : 0);
    const ask = (channel: string) => cluster.request('any', channel, question);
    await ask('channel');
    await ask('another channel');
    await ask('channel');
    await ask('channel');
    expect(heard).toEqual([0, 1, 1, 1]);
  });
});

describe('Cluster with a broker on a new address', () => {
  const addressOf = ({ port }: SilentBroker) => ({ host: '127.0.0.1', port });
  const heard: string[] = [];
  let brokers: readonly SilentBroker[];
  let cluster: Cluster;

  beforeEach(async () => {
    heard.length = 0;
    const [before, now] = [await new SilentBroker().listen(), await new SilentBroker().listen()];
    for (const [name, broker] of Object.entries({ before, now }))
      broker.heard = (request, socket) => {
        heard.push(name);
        socket.write(restingAnswer(request, 0));
      };
    cluster = new Cluster({
      brokers: [`127.0.0.1:${now.port}`],
      clientId: 'spec',
      connectionTimeoutMs: FOR_EVER_MS,
      requestTimeoutMs: FOR_EVER_MS,
      runtime: realRuntime,
    });
    const node = { id: 5, ...addressOf(before), rack: 'a' };
    cluster.metadata.update({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    brokers = [before, now];
  });
  afterEach(() => {
    cluster.close();
    for (const broker of brokers) broker.close();
  });

  it('uses the new address as soon as a response names it', async () => {
    const ask = () => cluster.request(5, 'channel', question);
    await ask();
    const [before, now] = brokers as [SilentBroker, SilentBroker];
    cluster.metadata.updateAddress(5, addressOf(now));
    await ask();
    expect(heard).toEqual(['before', 'now']);
    expect(cluster.metadata.brokers.get(5)).toMatchObject({ ...addressOf(now), rack: 'a' });
    // A broker that lags behind names the old address. The request fails there, and the next
    // response corrects it.
    cluster.metadata.updateAddress(5, addressOf(before));
    before.close();
    await expect(ask()).rejects.toBeInstanceOf(ConnectionError);
    cluster.metadata.updateAddress(5, addressOf(now));
    await ask();
    expect(heard).toEqual(['before', 'now', 'now']);
  });

  it('does not add an unknown broker by its address, because the metadata would be incomplete', () => {
    const [, now] = brokers as [SilentBroker, SilentBroker];
    cluster.metadata.updateAddress(6, addressOf(now));
    expect([...cluster.metadata.brokers.keys()]).toEqual([5]);
  });
});

describe('request that ends while it waits for its connection', () => {
  let broker: SilentBroker;
  let cluster: Cluster;
  let metadata: Deferred;

  beforeEach(async () => {
    broker = await new SilentBroker().listen();
    cluster = new Cluster({
      brokers: ['127.0.0.1:1'],
      clientId: 'spec',
      connectionTimeoutMs: FOR_EVER_MS,
      requestTimeoutMs: FOR_EVER_MS,
      runtime: realRuntime,
    });
    metadata = new Deferred();
    jest.spyOn(cluster.metadata, 'refresh').mockReturnValue(metadata.promise);
  });
  afterEach(() => {
    cluster.close();
    broker.close();
    jest.restoreAllMocks();
  });

  function metadataCome(): void {
    const node = { id: 5, host: '127.0.0.1', port: broker.port, rack: null };
    cluster.metadata.update({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    metadata.resolve();
  }

  /** Opens one more connection, which comes after all connections opened by mistake. */
  async function connectionsInTheEnd(): Promise<number> {
    const request = cluster.request(5, 'another channel', metadataRequest([]));
    request.catch(() => undefined);
    await broker.asked();
    return broker.sockets.length - 1;
  }

  it('opens no connection if its channel is closed, because nobody would close that connection', async () => {
    const answer = cluster.request(5, 'channel', metadataRequest([]));
    cluster.closeChannel('channel', new ConnectionError('not needed any more'));
    metadataCome();
    await expect(answer).rejects.toThrow('not needed any more');
    expect(await connectionsInTheEnd()).toBe(0);
  });

  it('opens no connection if its signal aborts', async () => {
    const control = new AbortController();
    const answer = cluster.request(5, 'channel', metadataRequest([]), { signal: control.signal });
    control.abort(new Error('given up'));
    await expect(answer).rejects.toThrow('given up');
    metadataCome();
    expect(await connectionsInTheEnd()).toBe(0);
  });
});

/** SaslHandshake, version 1: the second request on its connection. */
function handshakeAccepted(mechanism: string): Buffer {
  const answer = Buffer.alloc(4 + 4 + 2 + 4 + 2 + mechanism.length);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(1, 4);
  answer.writeInt32BE(1, 10);
  answer.writeInt16BE(mechanism.length, 14);
  answer.write(mechanism, 16);
  return answer;
}

/** SaslAuthenticate, version 1: the third request, with a session that does not expire. */
function authenticated(text: string): Buffer {
  const answer = Buffer.alloc(4 + 4 + 2 + 2 + 4 + text.length + 8);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(2, 4);
  answer.writeInt16BE(-1, 10);
  answer.writeInt32BE(text.length, 12);
  answer.write(text, 16);
  return answer;
}
