import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { TcpProxy } from '../../proxy/tcp-proxy.js';
import type { KafkaRecipe } from '../kafka-server-options.js';
import { KafkaStartError, KafkaUnavailableError } from '../kafka-unavailable-error.js';
import { untilReady } from '../readiness.js';
import { wantsTls, type Certificates } from '../security-options.js';
import type { StartedKafka } from '../started-kafka.js';
import { BrokerProcess } from './broker-process.js';
import { makeCertificates } from './certificates.js';
import { onFreePorts } from '../../processes/free-ports.js';
import type { KafkaJars } from './kafka-jars.js';
import { HOST, type BrokerPorts } from './listeners.js';
import { kafkaId, prepareNodeFolder } from './node-folder.js';

interface LocalBroker {
  readonly process: BrokerProcess;
  readonly ports: BrokerPorts;
  readonly proxy: TcpProxy | undefined;
}

/** Ports per broker: one for clients, one for controllers, and two for a proxy. */
const PORTS_EACH = 4;

const portsEach = ({ security }: KafkaRecipe): number =>
  PORTS_EACH + Object.keys(security.listeners).length;

/** Brokers in local JVMs. Each node is a controller and a broker. */
export class LocalKafka implements StartedKafka {
  readonly source = 'local';
  readonly canKill = true;
  #certificates: Certificates | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(
    private readonly runtime: Runtime,
    private readonly recipe: KafkaRecipe,
    private readonly folder: string,
    private readonly nodes: readonly LocalBroker[],
  ) {}

  static start(runtime: Runtime, jars: KafkaJars, recipe: KafkaRecipe): Promise<LocalKafka> {
    return onFreePorts(runtime, recipe.brokers * portsEach(recipe), async (ports) => {
      const folder = await mkdtemp(join(tmpdir(), 'nest-event-bus-kafka-'));
      const nodes = brokerPorts(ports, recipe).map((own, id) => localNode(jars, folder, own, id));
      const kafka = new LocalKafka(runtime, recipe, folder, nodes);
      await kafka.#launchNodes(jars);
      return kafka;
    });
  }

  get brokers(): readonly string[] {
    return this.nodes.map(({ ports }) => `${HOST}:${ports.plain}`);
  }

  get securedBrokers(): Readonly<Record<string, readonly string[]>> {
    const names = Object.keys(this.recipe.security.listeners);
    const at = (name: string): string[] =>
      this.nodes.map(({ ports }) => `${HOST}:${ports.secured?.[name]}`);
    return Object.fromEntries(names.map((name) => [name, at(name)]));
  }

  get certificates(): Certificates | undefined {
    return this.#certificates;
  }

  get proxies(): readonly TcpProxy[] {
    return this.nodes.flatMap(({ proxy }) => proxy ?? []);
  }

  get proxiedBrokers(): readonly string[] {
    return this.proxies.map(({ address }) => address);
  }

  async kill(broker: number): Promise<void> {
    await this.#node(broker).process.kill();
  }

  async shutDown(broker: number): Promise<void> {
    await this.#node(broker).process.shutDown();
  }

  async restart(broker: number): Promise<void> {
    const { process } = this.#node(broker);
    await process.kill();
    process.launch();
    try {
      await this.#untilReady();
    } catch (error) {
      throw await this.#failure(`did not come back as broker ${broker}`, error);
    }
  }

  freeze(broker: number): void {
    this.#node(broker).process.freeze();
  }

  thaw(broker: number): void {
    this.#node(broker).process.thaw();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await Promise.allSettled(this.proxies.map((proxy) => proxy.close()));
    await Promise.allSettled(this.nodes.map(({ process }) => process.kill()));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #node(broker: number): LocalBroker {
    const node = this.nodes[broker];
    if (node === undefined) {
      throw new RangeError(
        `There is no broker ${broker}: they are counted 0 to ${this.nodes.length - 1}.`,
      );
    }
    return node;
  }

  /** Waits until all running brokers see each other. Killed and frozen brokers are left out. */
  async #untilReady(): Promise<void> {
    const up = this.nodes.flatMap((node, id) =>
      node.process.kind === 'up' ? { ...node, id } : [],
    );
    await untilReady(this.runtime, {
      addresses: up.map(({ ports }) => `${HOST}:${ports.plain}`),
      nodes: up.map(({ id }) => id),
      timeoutMs: this.recipe.startTimeoutMs,
      fatalReason: () =>
        up.some(({ process }) => process.kind === 'down') ? 'a broker ended' : undefined,
    });
  }

  async #launchNodes(jars: KafkaJars): Promise<void> {
    try {
      await this.#prepareNodes(jars);
      await Promise.all(this.proxies.map((proxy) => proxy.accept()));
      for (const { process } of this.nodes) process.launch();
      await this.#untilReady();
    } catch (error) {
      const isMissing = error instanceof KafkaUnavailableError;
      const failure = isMissing ? error : await this.#failure('did not start', error);
      await this.stop();
      throw failure;
    }
  }

  async #prepareNodes(jars: KafkaJars): Promise<void> {
    const clusterId = kafkaId(this.runtime);
    const controllers = this.nodes.map(({ ports }) => ports.controller);
    if (wantsTls(this.recipe.security)) this.#certificates = await makeCertificates(this.folder);
    await Promise.all(
      this.nodes.map(({ process: { folder }, ports }, id) => {
        const dataFolder = join(folder, 'data');
        const layout = { id, ports, controllers, dataFolder, certificateFolder: this.folder };
        return prepareNodeFolder(this.runtime, jars, this.recipe, { folder, clusterId, layout });
      }),
    );
  }

  async #failure(what: string, cause: unknown): Promise<KafkaStartError> {
    const outputs = await Promise.all(this.nodes.map(({ process }) => process.lastOutput()));
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new KafkaStartError(
      `Kafka ${this.recipe.version} ${what}: ${reason}\n${outputs.join('\n')}`.trimEnd(),
      { cause },
    );
  }
}

function localNode(jars: KafkaJars, folder: string, ports: BrokerPorts, id: number): LocalBroker {
  return {
    process: new BrokerProcess(jars, join(folder, `broker-${id}`)),
    ports,
    proxy:
      ports.proxied &&
      new TcpProxy({ target: `${HOST}:${ports.proxied.broker}`, port: ports.proxied.proxy }),
  };
}

function brokerPorts(free: readonly number[], recipe: KafkaRecipe): BrokerPorts[] {
  return Array.from({ length: recipe.brokers }, (_, id) => {
    const own = free.slice(id * portsEach(recipe));
    const [plain = 0, controller = 0, broker = 0, proxy = 0, ...more] = own;
    const names = Object.keys(recipe.security.listeners);
    const secured = Object.fromEntries(names.map((name, index) => [name, more[index] ?? 0]));
    return {
      plain,
      controller,
      secured,
      ...(recipe.proxied ? { proxied: { broker, proxy } } : {}),
    };
  });
}
