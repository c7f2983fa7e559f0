import type { DriverLogger } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { TopicProvisioner } from './topic-provisioner.js';

describe('TopicProvisioner', () => {
  const warnings: string[] = [];
  const logger: DriverLogger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => void warnings.push(message),
    error: () => undefined,
  };

  /** Advances the virtual time until the promise is settled. */
  async function run<T>(runtime: VirtualRuntime, promise: Promise<T>): Promise<T> {
    const progress = { isSettled: false };
    const settle = (): void => void (progress.isSettled = true);
    promise.then(settle, settle);
    while (!progress.isSettled) await runtime.advance(100);
    return promise;
  }

  function provisionerOn(runtime: VirtualRuntime) {
    const broker = new MemoryBroker({ runtime });
    const driver = memory({ broker });
    const match = { operation: 'create-topics' } as const;
    const fault = broker.faults.refuse(match, 'CLUSTER_AUTHORIZATION_FAILED');
    const provisioner = new TopicProvisioner(driver, [{ name: 'orders' }], runtime, logger);
    return { driver, fault, provisioner };
  }

  it('lets the application start after ten seconds, and goes on in the background', async () => {
    const runtime = new VirtualRuntime();
    const { driver, fault, provisioner } = provisionerOn(runtime);
    const startedAt = runtime.monotonic();
    await run(runtime, provisioner.start());
    expect(runtime.monotonic() - startedAt).toBeGreaterThanOrEqual(10_000);
    expect(runtime.monotonic() - startedAt).toBeLessThan(60_000);
    expect(warnings.length).toBeGreaterThan(1);
    fault.lift();
    await run(runtime, provisioner.done);
    const topics = await run(runtime, driver.admin().topics());
    expect(topics.map(({ name }) => name)).toEqual(['orders']);
  });

  it('ends its attempts when it is closed', async () => {
    const runtime = new VirtualRuntime();
    const { fault, provisioner } = provisionerOn(runtime);
    await run(runtime, provisioner.start());
    await run(runtime, provisioner.close());
    const { hits } = fault;
    await runtime.advance(120_000);
    expect(fault.hits).toBe(hits);
  });
});
