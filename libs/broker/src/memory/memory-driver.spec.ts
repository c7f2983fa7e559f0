import { ClosedError, InvalidOptionError } from '../port/errors.js';
import { VirtualRuntime } from '../runtime/index.js';
import { MemoryBroker, memory } from './index.js';

describe('memory()', () => {
  it('needs no options, and uses the real clock', async () => {
    const driver = memory();
    const admin = driver.admin();
    expect(await admin.createTopics([{ name: 't' }])).toEqual([{ name: 't', changed: true }]);
    expect(await admin.createTopics([{ name: 't' }])).toEqual([{ name: 't', changed: false }]);
    await driver.close();
  });

  it('shares a cluster between drivers of one broker, and only between those', async () => {
    const broker = new MemoryBroker();
    const [one, other, stranger] = [memory({ broker }), memory({ broker }), memory()];
    await one.admin().createTopics([{ name: 't' }]);
    expect(await other.admin().topics()).toHaveLength(1);
    expect(await stranger.admin().topics()).toHaveLength(0);
  });

  it('rejects an unknown option and suggests the most similar one', () => {
    const call = (options: object) => () => memory(options);
    expect(call({ brker: 1 })).toThrow('memory options have no "brker". Did you mean "broker"?');
    expect(() => new MemoryBroker({ latency: 5 } as object)).toThrow(/Did you mean "latencyMs"/);
    expect(() => new MemoryBroker({ brokers: -1 })).toThrow(InvalidOptionError);
    expect(call({ requestTimeoutMs: 0 })).toThrow(InvalidOptionError);
    expect(() => memory().consumer({ groupId: '', topics: ['t'] })).toThrow(InvalidOptionError);
    expect(() => memory().producer({ compression: 'brotli' as 'gzip' })).toThrow(
      InvalidOptionError,
    );
  });

  it('rejects a runtime other than that of its broker', () => {
    const broker = new MemoryBroker();
    expect(() => memory({ broker, runtime: new VirtualRuntime() })).toThrow(/one clock/);
  });

  it('closes all its sessions, and creates no more', async () => {
    const driver = memory();
    const [producer, admin] = [driver.producer(), driver.admin()];
    await Promise.all([driver.close(), driver.close()]);
    await expect(producer.send([{ topic: 't', value: 'v' }])).rejects.toBeInstanceOf(ClosedError);
    await expect(admin.topics()).rejects.toBeInstanceOf(ClosedError);
    expect(() => driver.producer()).toThrow(ClosedError);
  });
});
