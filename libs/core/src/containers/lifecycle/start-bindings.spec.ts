import { binding, busWith } from '../bus-test-bed.spec-support.js';
import { startBindings } from './start-bindings.js';

const start = ({ registry, lifecycle, logger }: ReturnType<typeof busWith>) =>
  startBindings(registry, lifecycle, logger);

describe('startBindings', () => {
  it('starts the bindings with autoStartup', async () => {
    const bus = busWith();
    bus.add(binding('orders'));
    bus.add(binding('manual', { autoStartup: false }));
    bus.add(binding('orders', { cluster: 'eu' }));
    const report = await start(bus);
    expect(report.started.map(({ cluster, binding }) => `${cluster}:${binding}`)).toEqual([
      'default:orders',
      'eu:orders',
    ]);
    expect(bus.registry.require('manual').state).toBe('CREATED');
  });

  it('lets startup.concurrency sessions join at the same time, over hundreds of containers', async () => {
    const bus = busWith({ joinConcurrency: 8 });
    let joining = 0;
    let most = 0;
    for (let number = 0; number < 300; number++) {
      bus.sessions.scripts.set(`eventbus-b${number}-0`, {
        get joins() {
          most = Math.max(most, ++joining);
          return new Promise<void>((resolve) =>
            bus.runtime.setTimer(() => {
              joining--;
              resolve();
            }, 50),
          );
        },
      });
      bus.add(binding(`b${number}`));
    }
    await start(bus);
    await bus.runtime.advance(50 * Math.ceil(300 / 8));
    expect(bus.sessions.all.filter(({ status }) => status.state === 'joined')).toHaveLength(300);
    expect(most).toBe(8);
  });

  it('waits for no cluster: an unreachable one delays nobody', async () => {
    const bus = busWith({ joinConcurrency: 2 });
    for (const name of ['dead1', 'dead2', 'dead3']) {
      bus.sessions.scripts.set(`eventbus-${name}-0`, { joins: 'never' });
      bus.add(binding(name));
    }
    bus.add(binding('orders'));
    await start(bus);
    expect(bus.registry.listAll().every(({ state }) => state === 'RUNNING')).toBe(true);
    await bus.runtime.advance(10_000);
    expect(bus.registry.require('orders').mainContainer.status.state).toBe('joined');
    expect(bus.registry.require('dead1').mainContainer.status.state).toBe('starting');
  });

  it('reports and logs a binding that could not begin, and starts the rest', async () => {
    const bus = busWith();
    bus.sessions.refused.add('eventbus-orders-0');
    bus.add(binding('orders'));
    bus.add(binding('payments'));
    const report = await start(bus);
    expect(report.failed).toMatchObject([{ binding: 'orders', cluster: 'default' }]);
    expect(report.started).toMatchObject([{ binding: 'payments', state: 'RUNNING' }]);
    expect(bus.logger.lines).toMatchObject([
      { level: 'error', context: { binding: 'default:orders' } },
    ]);
    expect(bus.connector.health().bindings[0]).toMatchObject({
      binding: 'orders',
      state: 'CREATED',
      status: 'DOWN',
      reasons: [expect.stringMatching(/^it could not start: /)],
    });
    bus.sessions.refused.clear();
    await bus.lifecycle.start('orders');
    await bus.runtime.advance(1_000);
    expect(bus.connector.health().bindings[0]).toMatchObject({ state: 'RUNNING', status: 'UP' });
  });
});
