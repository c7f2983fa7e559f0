import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ClosedError, ConnectionError, RequestTimeoutError } from '../../port/errors.js';
import { Deferred, realRuntime, VirtualRuntime } from '../../runtime/index.js';
import { ownRequest } from '../requests/api-request.js';
import { Cluster } from '../cluster/cluster.js';
import { ClusterFeatures, NO_FEATURES } from '../cluster/cluster-features.js';
import { Connection, type ConnectionOptions } from './connection.js';
import { metadataRequest } from '../requests/metadata-request.js';
import { Writer } from '../requests/writer.js';

/** Longer than any test: whoever waits for it has been forgotten. */
const FOR_EVER_MS = 600_000;
const API_VERSIONS = 18;
const NOBODY_ANSWERS = { mechanism: 'plain', username: 'u', password: 'p' };

interface CustomExchange {
  saslAuthenticate(message: unknown): Promise<unknown>;
}

/** A broker that tells its versions, and says nothing else. */
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
  /** Of ApiVersions. */
  newest = 3;
  readonly versionsAsked: number[] = [];
  /** Told of a request that gets no answer. */
  heard: ((request: Buffer, socket: Socket) => void) | undefined;

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Several may come in one piece. */
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

  /** In the oldest version, whatever was asked. */
  #refusal(): Buffer {
    const writer = new Writer().int16(35);
    return writer
      .array([API_VERSIONS], (key) => writer.int16(key).int16(0).int16(this.newest))
      .toBuffer();
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Until somebody has asked what is not answered. */
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

describe('a connection that is closed while it is opened', () => {
  let broker: SilentBroker;
  beforeEach(async () => (broker = await new SilentBroker().listen()));
  afterEach(() => {
    broker.close();
    jest.restoreAllMocks();
  });

  const connectionTo = (
    options: { sasl?: ConnectionOptions['sasl']; runtime?: VirtualRuntime } = {},
  ): Connection => new Connection({ ...to(broker), runtime: realRuntime, ...options });

  it('while it connects, ends at once and leaves no timer behind', async () => {
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

  it('before it connects, never does: nobody would close that socket', async () => {
    const connection = connectionTo();
    connection.close();
    await expect(connection.open()).rejects.toThrow(ClosedError);
    const other = connectionTo();
    await other.open();
    expect(broker.sockets).toHaveLength(1);
    other.close();
  });

  it('while the credentials are not answered, ends at once', async () => {
    const connection = connectionTo({ sasl: NOBODY_ANSWERS });
    const asked = broker.asked();
    const opening = connection.open();
    await asked;
    connection.close();
    await expect(opening).rejects.toThrow(ClosedError);
  });

  it('while a token is not given, ends at once', async () => {
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

  it('gives up by itself where the credentials are not answered', async () => {
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

describe('a mechanism that kafkajs has never heard of', () => {
  it('is spoken by the provider that the user brings', async () => {
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

describe('what a broker says of itself', () => {
  it.each([
    [3, [3], 2],
    [2, [3, 2], 0],
  ])(
    'is asked in the newest version that it knows, %i',
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

  it('of the features of its cluster counts by their epoch, whichever broker says it', () => {
    const features = new ClusterFeatures();
    const told = (epoch: number, level: number) =>
      features.learn({ epoch, levels: new Map([['transaction.version', level]]) });
    expect(features.levelOf('transaction.version')).toBe(0);
    told(5, 1);
    told(7, 2);
    told(6, 1);
    features.learn(NO_FEATURES);
    expect(features.levelOf('transaction.version')).toBe(2);
    expect(features.levelOf('group.version')).toBe(0);
  });
});

const question = ownRequest({
  apiKey: 3,
  apiName: 'Question',
  versions: [0],
  write: () => undefined,
  read: (reader) => reader.int32(),
});

/** To the question. */
function restingAnswer(request: Buffer, restMs: number): Buffer {
  const answer = Buffer.alloc(12);
  answer.writeInt32BE(8, 0);
  request.copy(answer, 4, 8, 12);
  answer.writeInt32BE(restMs, 8);
  return answer;
}

describe('a broker over whose quota we are', () => {
  const FIVE_SECONDS = 5_000;
  let broker: SilentBroker;
  let runtime: VirtualRuntime;
  let connection: Connection;
  /** What each answer asks for. */
  let restMs: number;
  let asked: number;
  /** Where set, answers are not sent but held here. */
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

  /** Time passes, and so do some round trips; the broker is not asked. */
  async function advanceQuietly(milliseconds: number): Promise<void> {
    await runtime.advance(milliseconds);
    const other = new Connection({ ...to(broker), runtime: realRuntime });
    await other.open();
    other.close();
    expect(asked).toBe(1);
  }

  it('is left alone for as long as it asks, and that takes nothing from the deadline', async () => {
    restMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    await advanceQuietly(FIVE_SECONDS - 1);
    await runtime.advance(1);
    expect(await next).toBe(FIVE_SECONDS);
    expect(asked).toBe(2);
  });

  it('is not left alone for ever', async () => {
    restMs = 2 ** 31 - 1;
    await ask();
    const next = ask();
    await advanceQuietly(59_999);
    await runtime.advance(1);
    await next;
    expect(asked).toBe(2);
  });

  it('does not hold up the end of the connection', async () => {
    restMs = FIVE_SECONDS;
    await ask();
    const next = ask();
    connection.close();
    await expect(next).rejects.toThrow(ClosedError);
  });

  it('is not asked after its rest what was given up meanwhile', async () => {
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

  describe('while another request waits for its answer', () => {
    /** The first answer asks for a rest; the second one is held back. */
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

    it('is given that much longer for it', async () => {
      const { waiting, answer } = await waitingOne();
      await runtime.advance(FIVE_SECONDS + 999);
      answer();
      expect(await waiting).toBe(FIVE_SECONDS);
    });

    it('is given a minute longer at most, however often it asks for a rest', async () => {
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

    it('is not given longer than that', async () => {
      const { waiting } = await waitingOne();
      await runtime.advance(FIVE_SECONDS + 1_000);
      await expect(waiting).rejects.toThrow(RequestTimeoutError);
    });
  });
});

describe('a cluster with a broker over whose quota we are', () => {
  const REST_MS = 60_000;
  let brokers: readonly SilentBroker[];
  let runtime: VirtualRuntime;
  let cluster: Cluster;
  /** The number of the broker, for each request. */
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

  it('does not send after the rest what its signal has ended meanwhile', async () => {
    restOf = () => REST_MS;
    const node = { id: 5, host: '127.0.0.1', port: brokers[0]?.port ?? 0, rack: null };
    cluster.metadata.learn({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    const ask = (signal?: AbortSignal) =>
      cluster.request(5, 'lane', question, { ...(signal && { signal }) });
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

  it('asks another one meanwhile what any of them can tell', async () => {
    restOf = (number) => (number === 0 ? REST_MS : 0);
    const ask = (lane: string) => cluster.request('any', lane, question);
    await ask('lane');
    await ask('another lane');
    await ask('lane');
    await ask('lane');
    expect(heard).toEqual([0, 1, 1, 1]);
  });
});

describe('a broker that is back at another address', () => {
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
    cluster.metadata.learn({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    brokers = [before, now];
  });
  afterEach(() => {
    cluster.close();
    for (const broker of brokers) broker.close();
  });

  it('is asked there as soon as somebody has told', async () => {
    const ask = () => cluster.request(5, 'lane', question);
    await ask();
    const [before, now] = brokers as [SilentBroker, SilentBroker];
    cluster.metadata.learnAddress(5, addressOf(now));
    await ask();
    expect(heard).toEqual(['before', 'now']);
    expect(cluster.metadata.brokers.get(5)).toMatchObject({ ...addressOf(now), rack: 'a' });
    // Told by who lags behind: it is looked for there in vain, and told anew.
    cluster.metadata.learnAddress(5, addressOf(before));
    before.close();
    await expect(ask()).rejects.toBeInstanceOf(ConnectionError);
    cluster.metadata.learnAddress(5, addressOf(now));
    await ask();
    expect(heard).toEqual(['before', 'now', 'now']);
  });

  it('is not known by that, where it was not known: the cluster is asked for all of it', () => {
    const [, now] = brokers as [SilentBroker, SilentBroker];
    cluster.metadata.learnAddress(6, addressOf(now));
    expect([...cluster.metadata.brokers.keys()]).toEqual([5]);
  });
});

describe('a request that is ended while it looks for its connection', () => {
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
    cluster.metadata.learn({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    metadata.resolve();
  }

  /** What was opened by mistake has come by then. */
  async function connectionsInTheEnd(): Promise<number> {
    const request = cluster.request(5, 'another lane', metadataRequest([]));
    request.catch(() => undefined);
    await broker.asked();
    return broker.sockets.length - 1;
  }

  it('with its lane opens none: nobody would close it before the driver', async () => {
    const answer = cluster.request(5, 'lane', metadataRequest([]));
    cluster.closeLane('lane', new ConnectionError('not needed any more'));
    metadataCome();
    await expect(answer).rejects.toThrow('not needed any more');
    expect(await connectionsInTheEnd()).toBe(0);
  });

  it('by its signal opens none', async () => {
    const control = new AbortController();
    const answer = cluster.request(5, 'lane', metadataRequest([]), { signal: control.signal });
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

/** SaslAuthenticate, version 1: the third request; a session without an end. */
function authenticated(text: string): Buffer {
  const answer = Buffer.alloc(4 + 4 + 2 + 2 + 4 + text.length + 8);
  answer.writeInt32BE(answer.length - 4, 0);
  answer.writeInt32BE(2, 4);
  answer.writeInt16BE(-1, 10);
  answer.writeInt32BE(text.length, 12);
  answer.write(text, 16);
  return answer;
}
