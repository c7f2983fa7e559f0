import { errorOf } from '../support/test-bus.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const NOTE = { by: 'ann', reason: 'test data' };
const AT = { partition: 0, offset: 0 };

describe('A replay service that is closed', () => {
  it('refuses every call with a typed error, and writes nothing', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const replay = otherProcess(testBus);
    await testBus.done(replay.close());
    const before = await testBus.records('orders.DLT.ledger');
    const calls: Readonly<Record<string, () => unknown>> = {
      list: () => replay.list('orders'),
      plan: () => replay.plan('orders', { all: true }),
      run: () => replay.run('orders', id),
      replay: () => replay.replay('orders', { all: true }),
      replayDue: () => replay.replayDue('orders'),
      cancel: () => replay.cancel('orders', id),
      operation: () => replay.operation('orders', id),
      approve: () => replay.approve('orders', id),
      status: () => replay.status('orders', id),
      operations: () => replay.operations('orders'),
      actions: () => replay.actions('orders'),
      editAndReplay: () => replay.editAndReplay('orders', AT, { value: '2' }, NOTE),
      markPermanentlyFailed: () => replay.markPermanentlyFailed('orders', { at: [AT] }, NOTE),
      reopen: () => replay.reopen('orders', { at: [AT] }, NOTE),
      purge: () => replay.purge('orders', { olderThan: '1ms' }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error = await errorOf(testBus.done((async () => call())()));
      expect([name, error]).toMatchObject([name, { code: 'EVENT_BUS_SHUTTING_DOWN' }]);
    }
    expect(await testBus.records('orders.DLT.ledger')).toEqual(before);
  });
});

describe('A second run of an operation in the same process', () => {
  it('is refused if it has other options, and says what to do', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4']);
    testBus.cure();
    const { replay } = testBus;
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    const first = replay.run('orders', id, { rate: 1, canary: 1 });
    for (const options of [{ rate: 2, canary: 1 }, { rate: 1 }, { brakes: { returned: 5 } }])
      expect(await errorOf((async () => replay.run('orders', id, options))())).toMatchObject({
        code: 'REDRIVE_REFUSED',
        message: expect.stringContaining('Stop it first'),
      });
    const same = replay.run('orders', id, { canary: { letters: 1 }, rate: 1 });
    same.stop();
    expect(await testBus.finished(first)).toMatchObject({ state: 'completed', replayed: 4 });
    await testBus.finished(same);
    expect(await testBus.finished(replay.run('orders', id, { rate: 2 }))).toMatchObject({
      state: 'completed',
    });
  });
});
