import type {
  CircuitBreaker,
  CircuitState,
  CircuitTransition,
} from '../../model/states/circuit-breaker.js';
import { binding, busWith, processor } from '../bus-test-bed.spec-support.js';
import { CircuitBreakerLifecycleBridge } from './circuit-breaker-lifecycle-bridge.js';
import { noDriver } from '../fake-sessions.spec-support.js';

/** A circuit whose transitions the test makes. */
class FakeCircuit implements CircuitBreaker {
  state: CircuitState = 'CLOSED';
  readonly since = 0;
  readonly figures = { calls: 10, failures: 6, slow: 0 };
  readonly waitDurationInOpenStateMs = 60_000;
  readonly listeners = new Set<(transition: CircuitTransition) => void>();
  resets = 0;

  constructor(readonly automaticPauseOnOpen = true) {}

  onTransition(listener: (transition: CircuitTransition) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  reset(): void {
    this.resets++;
    this.state = 'CLOSED';
  }

  go(to: CircuitState): void {
    const { state: from, figures } = this;
    this.state = to;
    for (const listener of this.listeners)
      listener({ from, to, cause: 'failure-rate', figures, at: 0 });
  }
}

async function testBedWith(circuit = new FakeCircuit()) {
  const bus = busWith();
  const { registry, lifecycle, factory, runtime } = bus;
  const said: string[] = [];
  const listening = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message: string) => void said.push(`warn ${message}`),
    error: (message: string) => void said.push(`error ${message}`),
  };
  const detach = new CircuitBreakerLifecycleBridge({
    registry,
    lifecycle,
    logger: listening,
  }).attach();
  registry.register(
    factory.create(binding(), {
      driver: noDriver,
      processor,
      tierProcessor: () => processor,
      circuitBreaker: circuit,
    }),
  );
  await lifecycle.start('orders');
  const pauses = () => registry.require('orders').pauses;
  return { ...bus, circuit, said, detach, pauses, settle: () => runtime.settle() };
}

describe('a binding whose circuit opens', () => {
  it('is paused for that reason, with a log line', async () => {
    const { circuit, registry, settle, said } = await testBedWith();
    circuit.go('OPEN');
    await settle();
    expect(registry.require('orders')).toMatchObject({
      state: 'PAUSED',
      pauses: ['circuit'],
      lastCommand: { operation: 'pause', by: 'circuit-breaker' },
    });
    expect(said).toEqual([
      expect.stringContaining("The circuit of binding 'orders' opened (failure-rate)"),
    ]);
  });

  it('runs again once the circuit is half open, and is paused when it opens again', async () => {
    const { circuit, registry, settle, pauses } = await testBedWith();
    const states: unknown[] = [];
    for (const to of ['OPEN', 'HALF_OPEN', 'OPEN', 'HALF_OPEN', 'CLOSED'] as const) {
      circuit.go(to);
      await settle();
      states.push([registry.require('orders').state, ...pauses()]);
    }
    const [paused, running] = [['PAUSED', 'circuit'], ['RUNNING']];
    expect(states).toEqual([paused, running, paused, running, running]);
  });

  it('follows the transitions in order, however fast they come', async () => {
    const { circuit, settle, pauses } = await testBedWith();
    circuit.go('OPEN');
    circuit.go('HALF_OPEN');
    circuit.go('OPEN');
    await settle();
    expect(pauses()).toEqual(['circuit']);
    circuit.go('HALF_OPEN');
    circuit.go('OPEN');
    circuit.go('HALF_OPEN');
    await settle();
    expect(pauses()).toEqual([]);
  });

  it('stays paused by its operator', async () => {
    const { circuit, lifecycle, settle, pauses } = await testBedWith();
    await lifecycle.pause('orders');
    circuit.go('OPEN');
    await settle();
    expect(pauses()).toEqual(['operator', 'circuit']);
    circuit.go('HALF_OPEN');
    await settle();
    expect(pauses()).toEqual(['operator']);
  });

  it('is not resumed by its operator, and the result shows why', async () => {
    const { circuit, lifecycle, settle } = await testBedWith();
    await lifecycle.pause('orders');
    circuit.go('OPEN');
    await settle();
    expect(await lifecycle.resume('orders')).toMatchObject({
      state: 'PAUSED',
      remainingPauses: ['circuit'],
    });
  });

  it('is not paused without automaticPauseOnOpen, but logged', async () => {
    const { circuit, settle, pauses, said } = await testBedWith(new FakeCircuit(false));
    circuit.go('OPEN');
    await settle();
    expect(pauses()).toEqual([]);
    expect(said).toEqual([expect.stringContaining('its records fail at once')]);
  });
});

describe('a circuit', () => {
  it('is reset when its binding is stopped', async () => {
    const { circuit, lifecycle } = await testBedWith();
    await lifecycle.stop('orders');
    expect(circuit.resets).toBe(1);
  });

  it('is reset and no longer watched when its binding is destroyed', async () => {
    const { circuit, lifecycle, settle, said } = await testBedWith();
    await lifecycle.destroy('orders');
    expect(circuit.resets).toBeGreaterThan(0);
    expect(circuit.listeners.size).toBe(0);
    circuit.go('OPEN');
    await settle();
    expect(said).toEqual([]);
  });

  it('pauses nothing if it opens while its binding is stopped', async () => {
    const { circuit, lifecycle, settle, said, registry } = await testBedWith();
    const stopped = lifecycle.stop('orders');
    circuit.go('OPEN');
    await stopped;
    await settle();
    expect(registry.require('orders')).toMatchObject({ state: 'STOPPED', pauses: [] });
    expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  it('does not pause a binding that was started at once after the stop that reset it', async () => {
    const { circuit, lifecycle, settle, registry } = await testBedWith();
    const commands = [lifecycle.stop('orders'), lifecycle.start('orders')];
    circuit.go('OPEN');
    await Promise.all(commands);
    await settle();
    expect(circuit.state).toBe('CLOSED');
    expect(registry.require('orders')).toMatchObject({ state: 'RUNNING', pauses: [] });
  });

  it('is not watched any more after the bridge was detached', async () => {
    const { circuit, detach, settle, pauses } = await testBedWith();
    detach();
    circuit.go('OPEN');
    await settle();
    expect(pauses()).toEqual([]);
  });
});
