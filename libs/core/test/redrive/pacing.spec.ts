import { ContainerRegistry } from '../../src/containers/container-registry.js';
import type { RunOptions } from '../../src/redrive/redrive-request.js';
import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import { DyingProcess } from './dying-driver.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const valuesUpTo = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index + 1));

async function planned(): Promise<string> {
  return (await testBus.done(testBus.replay.plan('orders', { all: true }))).id;
}

/** Runs a plan without waiting for its end. */
function started(id: string, options: RunOptions): Promise<RedriveReport> {
  const finished = Promise.resolve(testBus.replay.run('orders', id, options));
  finished.catch(() => undefined);
  return finished;
}

const statusOf = (id: string) => testBus.done(testBus.replay.status('orders', id));

describe('The rate of a redrive', () => {
  it('holds within five percent', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(600));
    testBus.cure();
    const id = await planned();
    const before = testBus.runtime.monotonic();
    let endedAt = 0;
    const run = started(id, { rate: 100 }).finally(() => (endedAt = testBus.runtime.monotonic()));
    await testBus.done(run);
    const perSecond = 600 / ((endedAt - before) / 1_000);
    expect(perSecond).toBeGreaterThan(95);
    expect(perSecond).toBeLessThan(105);
  });

  it('holds on a cluster that answers slowly', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(100));
    testBus.cure();
    const id = await planned();
    testBus.broker.faults.delayAnswers({ operation: 'end-transaction' }, 80);
    const before = testBus.runtime.monotonic();
    let endedAt = 0;
    await testBus.done(
      started(id, { rate: 10 }).finally(() => (endedAt = testBus.runtime.monotonic())),
    );
    const perSecond = 100 / ((endedAt - before) / 1_000);
    expect(perSecond).toBeGreaterThan(9.5);
    expect(perSecond).toBeLessThan(10.5);
  });

  it('grows with a ramp while all goes well', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(200));
    testBus.cure();
    const id = await planned();
    const run = started(id, { ramp: { from: 1, to: 4, every: '10s' } });
    const perStep: number[] = [];
    for (let step = 0, before = 0; step < 4; step++) {
      await testBus.runtime.advance(10_000);
      const { replayed } = await statusOf(id);
      perStep.push(replayed - before);
      before = replayed;
    }
    // 1, 2, 4 and 4 a second.
    const around = (perSecond: number, count: number) =>
      Math.abs(count - perSecond * 10) <= perSecond * 2 + 2;
    expect([perStep, [1, 2, 4, 4].map((rate, step) => around(rate, perStep[step]!))]).toEqual([
      perStep,
      [true, true, true, true],
    ]);
    await testBus.done(testBus.replay.cancel('orders', id));
    await testBus.done(run);
  });
});

describe('A redrive pauses itself, and goes on by itself,', () => {
  it('when the circuit of its target opens in the middle of the run', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(100));
    await testBus.done(testBus.application.close());
    testBus.application = await testBus.startHandler({
      ...AT_ONCE,
      circuitBreaker: {
        slidingWindowSize: 10,
        minimumNumberOfCalls: 5,
        waitDurationInOpenStateMs: 20_000,
        permittedNumberOfCallsInHalfOpenState: 1,
      },
    });
    testBus.cure();
    let isDown = false;
    testBus.handle = () => {
      if (isDown) throw Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' });
    };
    const events = testBus.listen();
    const id = await planned();
    const run = started(id, { rate: 5 });
    await testBus.runtime.advance(5_000);
    isDown = true;
    const { circuitBreaker } = testBus.application.get(ContainerRegistry).require('orders');
    for (let waits = 0; waits < 100 && circuitBreaker.current?.state !== 'OPEN'; waits++)
      await testBus.runtime.advance(1_000);
    expect(circuitBreaker.current?.state).toBe('OPEN');
    await testBus.runtime.advance(1_000);
    const braked = await testBus.done(otherProcess(testBus).status('orders', id));
    expect(braked).toMatchObject({ state: 'braked', brakes: [{ reason: 'circuit-open' }] });
    expect(braked.remaining).toBeGreaterThan(0);
    await testBus.runtime.advance(15_000);
    expect((await statusOf(id)).replayed).toBe(braked.replayed);
    isDown = false;
    const report = await testBus.done(run);
    expect(report).toMatchObject({ state: 'completed', replayed: 100, remaining: 0 });
    expect(report.brakes).toBeUndefined();
    await testBus.runtime.advance(60_000);
    expect(await statusOf(id)).toMatchObject({ outcomes: { handled: 100, deadLettered: 0 } });
    expect(events.map(({ name }) => name)).toEqual([
      'redrive.started',
      'redrive.braked',
      'redrive.resumed',
      'redrive.ended',
    ]);
  });

  it('when letters of the same group of cause come back', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(60));
    const events = testBus.listen();
    const id = await planned();
    const run = started(id, { rate: 5, brakes: { returned: 10, quiet: '30s' } });
    await testBus.runtime.advance(10_000);
    const braked = await statusOf(id);
    expect(braked).toMatchObject({
      state: 'braked',
      brakes: [{ reason: 'letters-returned', limit: 10 }],
    });
    // The brakes look once a second.
    expect(braked.replayed).toBeLessThanOrEqual(20);
    await testBus.runtime.advance(15_000);
    expect((await statusOf(id)).replayed).toBe(braked.replayed);
    testBus.cure();
    const report = await testBus.done(run);
    expect(report).toMatchObject({ state: 'completed', replayed: 60 });
    expect(events).toMatchObject([
      { name: 'redrive.started', operation: id },
      { name: 'redrive.braked', brake: 'letters-returned', limit: 10 },
      { name: 'redrive.resumed', brake: 'letters-returned' },
      { name: 'redrive.ended', state: 'completed', replayed: 60 },
    ]);
    expect(testBus.log.warnings.join()).toContain('A redrive pauses itself');
  });

  it('but not for letters of another group of cause', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(40));
    testBus.handle = ({ value }) => {
      if (Number(value) > 1_000) throw new TypeError('another fault');
    };
    const id = await planned();
    const run = started(id, { rate: 5, brakes: { returned: 3 } });
    await testBus.fails('1001', '1002', '1003', '1004', '1005');
    expect(await statusOf(id)).toMatchObject({ state: 'running' });
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 40 });
  });

  it('when the group of its target is too far behind', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(100));
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    testBus.handle = () => released;
    const id = await planned();
    const run = started(id, { rate: 10, brakes: { lag: 20 } });
    await testBus.runtime.advance(10_000);
    const braked = await statusOf(id);
    expect(braked).toMatchObject({ state: 'braked', brakes: [{ reason: 'lag', limit: 20 }] });
    expect(braked.replayed).toBeGreaterThan(10);
    expect(braked.replayed).toBeLessThan(45);
    release?.();
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 100 });
  });

  it('and shows no brake of a process that was killed', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(30));
    const id = await planned();
    const killed = new AbortController();
    const dying = new DyingProcess(Infinity);
    const node = otherProcess(testBus, (driver) => dying.driver(driver));
    const options = {
      rate: 5,
      brakes: { returned: 5, quiet: '1h' },
      signal: killed.signal,
    } as const;
    const first = Promise.resolve(node.run('orders', id, options)).catch(() => undefined);
    await testBus.runtime.advance(5_000);
    expect(await statusOf(id)).toMatchObject({ state: 'braked' });
    dying.die();
    killed.abort();
    await testBus.done(first);
    expect(await statusOf(id)).toMatchObject({ state: 'braked' });
    testBus.cure();
    const second = await testBus.done(started(id, {}));
    expect(second).toMatchObject({ state: 'completed', replayed: 30 });
    expect((await statusOf(id)).brakes).toBeUndefined();
  });

  it('and shows the brake of a host that has died only for a limited time', async () => {
    testBus = await RedriveTestBus.withLetters(valuesUpTo(30));
    const id = await planned();
    const killed = new AbortController();
    const dying = new DyingProcess(Infinity);
    const node = otherProcess(testBus, (driver) => dying.driver(driver), 'dying-host');
    const brakes = { returned: 5, quiet: '1h' } as const;
    const options = { rate: 5, brakes, signal: killed.signal };
    const first = Promise.resolve(node.run('orders', id, options)).catch(() => undefined);
    // A brake that is held for long is confirmed again and again.
    await testBus.runtime.advance(300_000);
    expect(await statusOf(id)).toMatchObject({
      state: 'braked',
      brakes: [{ reason: 'letters-returned', node: 'dying-host' }],
    });
    dying.die();
    killed.abort();
    await testBus.done(first);
    expect(await statusOf(id)).toMatchObject({ state: 'braked' });
    await testBus.runtime.advance(121_000);
    const left = await statusOf(id);
    expect(left.state).toBe('running');
    expect(left.brakes).toBeUndefined();
    testBus.cure();
    expect(await testBus.done(started(id, {}))).toMatchObject({ state: 'completed', replayed: 30 });
    const ledger = await testBus.records('orders.DLT.ledger');
    const brakeEntries = ledger.filter(({ key }) => key?.toString().startsWith('brake/'));
    expect(brakeEntries.at(-1)?.value).toBeNull();
  });
});
