import { ConnectionError } from '../../port/errors.js';
import { Deferred, realRuntime, VirtualRuntime } from '../../runtime/index.js';
import { Cluster } from './cluster.js';
import { metadataRequest } from '../requests/metadata-request.js';
import {
  NEVER_MS,
  SilentBroker,
  question,
  throttlingResponse,
} from '../connection/silent-broker.spec-support.js';

describe('Cluster with a throttling broker', () => {
  const THROTTLE_MS = 60_000;
  let brokers: readonly SilentBroker[];
  let runtime: VirtualRuntime;
  let cluster: Cluster;
  /** The index of the broker that received each request. */
  let onRequest: number[];
  let throttleOf: (broker: number) => number;

  beforeEach(async () => {
    brokers = [await new SilentBroker().listen(), await new SilentBroker().listen()];
    runtime = new VirtualRuntime();
    onRequest = [];
    for (const [number, broker] of brokers.entries())
      broker.onRequest = (request, socket) => {
        onRequest.push(number);
        socket.write(throttlingResponse(request, throttleOf(number)));
      };
    cluster = new Cluster({
      brokers: brokers.map(({ port }) => `127.0.0.1:${port}`),
      clientId: 'spec',
      connectionTimeoutMs: NEVER_MS,
      requestTimeoutMs: NEVER_MS,
      runtime,
    });
  });
  afterEach(() => {
    cluster.close();
    for (const broker of brokers) broker.close();
  });

  it('does not send a request if its signal aborts during the throttle time', async () => {
    throttleOf = () => THROTTLE_MS;
    const node = { id: 5, host: '127.0.0.1', port: brokers[0]?.port ?? 0, rack: null };
    cluster.metadata.update({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    const ask = (signal?: AbortSignal) =>
      cluster.request(5, 'channel', question, { ...(signal && { signal }) });
    await ask();
    const control = new AbortController();
    const aborted = ask(control.signal);
    await runtime.settle();
    control.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const next = ask();
    await runtime.advance(THROTTLE_MS);
    await next;
    expect(onRequest).toHaveLength(2);
  });

  it('sends a request to another broker if any broker can answer it', async () => {
    throttleOf = (number) => (number === 0 ? THROTTLE_MS : 0);
    const ask = (channel: string) => cluster.request('any', channel, question);
    await ask('channel');
    await ask('another channel');
    await ask('channel');
    await ask('channel');
    expect(onRequest).toEqual([0, 1, 1, 1]);
  });
});

describe('Cluster with a broker on a new address', () => {
  const addressOf = ({ port }: SilentBroker) => ({ host: '127.0.0.1', port });
  const onRequest: string[] = [];
  let brokers: readonly SilentBroker[];
  let cluster: Cluster;

  beforeEach(async () => {
    onRequest.length = 0;
    const [before, now] = [await new SilentBroker().listen(), await new SilentBroker().listen()];
    for (const [name, broker] of Object.entries({ before, now }))
      broker.onRequest = (request, socket) => {
        onRequest.push(name);
        socket.write(throttlingResponse(request, 0));
      };
    cluster = new Cluster({
      brokers: [`127.0.0.1:${now.port}`],
      clientId: 'spec',
      connectionTimeoutMs: NEVER_MS,
      requestTimeoutMs: NEVER_MS,
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

  it('connects to the new address as soon as a response names it', async () => {
    const ask = () => cluster.request(5, 'channel', question);
    await ask();
    const [before, now] = brokers as [SilentBroker, SilentBroker];
    cluster.metadata.updateAddress(5, addressOf(now));
    await ask();
    expect(onRequest).toEqual(['before', 'now']);
    expect(cluster.metadata.brokers.get(5)).toMatchObject({ ...addressOf(now), rack: 'a' });
    // A response of an outdated broker names the old address. The request to that address fails,
    // and the next response corrects the address.
    cluster.metadata.updateAddress(5, addressOf(before));
    before.close();
    await expect(ask()).rejects.toBeInstanceOf(ConnectionError);
    cluster.metadata.updateAddress(5, addressOf(now));
    await ask();
    expect(onRequest).toEqual(['before', 'now', 'now']);
  });

  it('does not add an unknown broker by its address, because the metadata would then be incomplete', () => {
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
      connectionTimeoutMs: NEVER_MS,
      requestTimeoutMs: NEVER_MS,
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

  function completeMetadata(): void {
    const node = { id: 5, host: '127.0.0.1', port: broker.port, rack: null };
    cluster.metadata.update({ brokers: [node], clusterId: 'c', controllerId: 5, topics: [] });
    metadata.resolve();
  }

  /**
   * Opens one more connection, and returns the number of earlier ones. Connections that were opened
   * by mistake are among the earlier ones.
   */
  async function openedConnections(): Promise<number> {
    const request = cluster.request(5, 'another channel', metadataRequest([]));
    request.catch(() => undefined);
    await broker.asked();
    return broker.sockets.length - 1;
  }

  it('opens no connection if its channel is closed, because that connection would never be closed', async () => {
    const answer = cluster.request(5, 'channel', metadataRequest([]));
    cluster.closeChannel('channel', new ConnectionError('not needed any more'));
    completeMetadata();
    await expect(answer).rejects.toThrow('not needed any more');
    expect(await openedConnections()).toBe(0);
  });

  it('opens no connection if its signal aborts', async () => {
    const control = new AbortController();
    const answer = cluster.request(5, 'channel', metadataRequest([]), { signal: control.signal });
    control.abort(new Error('given up'));
    await expect(answer).rejects.toThrow('given up');
    completeMetadata();
    expect(await openedConnections()).toBe(0);
  });
});
