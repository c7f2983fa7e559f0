import { AuthorizationError } from '@nest-event-bus/broker';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { eventbusHeader } from '../support/recording-test-bus.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

describe('A plan of a redrive', () => {
  it('selects the dead letters of now, and never those that arrive later', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const plan = await testBus.done(testBus.replay.plan('orders', { all: true, by: 'ann' }));
    expect(plan).toMatchObject({
      binding: 'orders',
      createdBy: 'ann',
      deadLetterTopic: 'orders.DLT',
      targetTopic: 'orders',
      selected: 2,
      skipped: {},
      partitions: [{ partition: 0, from: 0, to: 2, selected: 2 }],
      groups: [{ count: 2, exceptionClass: 'Error', cause: 'exhausted' }],
    });
    await testBus.fails('3');
    testBus.cure();
    const report = await testBus.finished(testBus.replay.run('orders', plan.id));
    expect(report).toMatchObject({ state: 'completed', selected: 2, replayed: 2, remaining: 0 });
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 2]);
  });

  it('replays nothing by itself', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    testBus.cure();
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    await testBus.runtime.advance(60_000);
    expect(testBus.handled).toEqual([]);
    expect(await testBus.done(testBus.replay.status('orders', id))).toMatchObject({
      state: 'planned',
      remaining: 1,
    });
  });

  it('with a limit selects the oldest letters', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    const request = { limit: 2 } as const;
    const report = await testBus.finished(testBus.replay.replay('orders', request));
    expect(report).toMatchObject({ selected: 2, replayed: 2 });
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 2]);
    // A second call continues, and does not repeat.
    await testBus.finished(testBus.replay.replay('orders', request));
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 2, 3]);
  });

  it('is refused if it selects nothing on purpose, or everything by accident', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    const { replay } = testBus;
    for (const request of [{}, { where: {} }, { where: {}, all: true }, { limit: 0 }])
      await expect(testBus.done(replay.plan('orders', request))).rejects.toMatchObject({
        code: 'INVALID_DEAD_LETTER_FILTER',
      });
    await expect(
      testBus.done(replay.plan('orders', { all: true, to: { tier: 4 } })),
    ).rejects.toMatchObject({ code: 'TIER_NOT_FOUND' });
  });
});

describe('A replayed record', () => {
  it('has its key, value and own headers, and begins a new life', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    const headers = [
      { key: 'type', value: 'OrderPlaced' },
      { key: 'twice', value: 'a' },
      { key: 'twice', value: 'b' },
      { key: 'original-topic', value: 'of the producer' },
    ];
    await testBus.write('orders', { key: 'k', value: '7', headers });
    await testBus.runtime.advance(1_000);
    testBus.cure();
    await testBus.finished(testBus.replay.replay('orders', { all: true }));
    const [, replayed] = await testBus.records('orders');
    expect(String(replayed?.key)).toBe('k');
    expect(String(replayed?.value)).toBe('7');
    const own = replayed?.headers.filter(({ key }) => !key.startsWith('x-eventbus-'));
    expect(own?.map(({ key, value }) => [key, String(value)])).toEqual(
      headers.map(({ key, value }) => [key, value]),
    );
    expect(eventbusHeader(replayed!, 'replay-count')).toBe('1');
    expect(eventbusHeader(replayed!, 'original-offset')).toBe('0');
    expect(eventbusHeader(replayed!, 'previous-exception')).toBe('Error');
    expect(eventbusHeader(replayed!, 'dlt-reason')).toBeUndefined();
    expect(eventbusHeader(replayed!, 'total-attempts')).toBeUndefined();
  });

  it('that fails again is dead-lettered with its number of replays and its first position', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    await testBus.finished(testBus.replay.replay('orders', { all: true }));
    await testBus.runtime.advance(5_000);
    const [first, second] = await testBus.records('orders.DLT');
    expect(eventbusHeader(first!, 'replay-count')).toBe('0');
    expect(eventbusHeader(second!, 'replay-count')).toBe('1');
    expect(eventbusHeader(second!, 'original-offset')).toBe('0');
    expect(eventbusHeader(second!, 'replay-id')).toMatch(/\/0\/0$/);
  });

  it('is replayed at most dlt.replay.maxReplays times, and its headers do not grow', async () => {
    testBus = await RedriveTestBus.withLetters(['1'], {
      ...AT_ONCE,
      dlt: { replay: { maxReplays: 3 } },
    });
    for (let cycle = 1; cycle <= 3; cycle++) {
      const run = testBus.replay.replay('orders', { all: true });
      expect(await testBus.finished(run)).toMatchObject({ replayed: 1 });
      await testBus.runtime.advance(5_000);
    }
    const fourth = await testBus.done(testBus.replay.plan('orders', { all: true }));
    expect(fourth).toMatchObject({
      selected: 0,
      skipped: { 'already-replayed': 3, 'max-replays': 1 },
    });
    const [letter] = await testBus.records('orders.DLT');
    expect(readDeadLetter(letter!).headers).toEqual([]);
    // How deep a stack is depends on the timers that were due with the record.
    const sizes = (await testBus.records('orders.DLT')).map(
      (record) =>
        record.sizeInBytes - (eventbusHeader(record, 'last-exception-stacktrace') ?? '').length,
    );
    expect(sizes).toHaveLength(4);
    expect(sizes[3]).toBe(sizes[1]);
  });

  it('goes to a tier with the headers of a record that was just routed there', async () => {
    testBus = await RedriveTestBus.withLetters(['1'], {
      ...AT_ONCE,
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }, { delayMs: 60_000 }] },
    });
    await testBus.runtime.advance(600_000);
    expect(await testBus.deadLetters()).toEqual(['1']);
    testBus.cure();
    await testBus.finished(testBus.replay.replay('orders', { all: true, to: { tier: 2 } }));
    const replayed = (await testBus.records('orders.retry-2')).at(-1)!;
    expect(eventbusHeader(replayed, 'retry-tier')).toBe('2');
    expect(testBus.handled).toEqual([]);
    await testBus.runtime.advance(61_000);
    expect(testBus.calls).toMatchObject([
      { value: 1, topic: 'orders.retry-2', attempt: { tier: 2, total: 1 } },
    ]);
  });
});

describe('A list of dead letters', () => {
  it('shows each letter with its failure and what became of it, page by page', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    await testBus.finished(testBus.replay.replay('orders', { limit: 1, by: 'ann' }));
    const first = await testBus.done(testBus.replay.list('orders', { limit: 2 }));
    expect(first.letters).toMatchObject([
      { position: { partition: 0, offset: 0 }, status: 'replayed', decision: { by: 'ann' } },
      { position: { partition: 0, offset: 1 }, status: 'open', letter: { totalAttempts: 1 } },
    ]);
    const second = await testBus.done(testBus.replay.list('orders', { after: first.next! }));
    expect(second.letters.map(({ position }) => position.offset)).toEqual([2]);
    expect(second.next).toBeUndefined();
    const open = await testBus.done(testBus.replay.list('orders', { status: 'open' }));
    expect(open.letters).toHaveLength(2);
  });
});

describe('A ledger whose topic lets entries expire', () => {
  it.each(['delete', 'compact,delete'])(
    'is refused before anything is replayed or decided, with cleanup.policy=%s',
    async (policy) => {
      testBus = await RedriveTestBus.withLetters(['1']);
      testBus.cure();
      const { replay } = testBus;
      const { id } = await testBus.done(replay.plan('orders', { all: true }));
      const admin = testBus.outside.admin();
      await testBus.done(admin.alterTopicConfig('orders.DLT.ledger', { 'cleanup.policy': policy }));
      const letters = { at: [{ partition: 0, offset: 0 }] };
      const refused = {
        code: 'REDRIVE_REFUSED',
        message: expect.stringContaining('Set cleanup.policy=compact on it'),
      };
      for (const act of [
        () => replay.plan('orders', { all: true }),
        () => Promise.resolve(replay.run('orders', id)),
        () => replay.markPermanentlyFailed('orders', letters, { reason: 'test data' }),
        () => replay.purge('orders', { plan: id }),
      ])
        await expect(testBus.done<unknown>(act())).rejects.toMatchObject(refused);
      await testBus.runtime.advance(1_000);
      expect(testBus.handled).toEqual([]);
      expect(await testBus.deadLetters()).toEqual(['1']);
      // Nothing is decided by looking at an operation or by ending it.
      const report = await testBus.done(replay.cancel('orders', id));
      expect(report).toMatchObject({ state: 'cancelled', remaining: 1 });
    },
  );

  it('is used with a warning if the right to read its policy is missing', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const denied = new AuthorizationError('DESCRIBE_CONFIGS is missing');
    testBus.broker.faults.refuse({ operation: 'describe-config' }, denied);
    expect(await testBus.done(testBus.replay.plan('orders', { all: true }))).toMatchObject({
      selected: 1,
    });
    expect(testBus.log.warnings.join()).toContain('Grant DESCRIBE_CONFIGS');
  });
});

describe('A plan with an id of the caller', () => {
  it('is made once, however often and however concurrently it is asked for', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    const request = { id: 'monday', where: { exceptionClass: 'Error' }, limit: 5 } as const;
    const [one, two] = await testBus.done(
      Promise.all([replay.plan('orders', request), replay.plan('orders', request)]),
    );
    await testBus.fails('3');
    const later = await testBus.done(replay.plan('orders', request));
    expect(one).toMatchObject({ id: 'monday', selected: 2 });
    expect([two, later]).toEqual([one, one]);
    expect(await testBus.done(replay.operations('orders'))).toHaveLength(1);
  });

  it('is refused for another selection', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const { replay } = testBus;
    await testBus.done(replay.plan('orders', { id: 'monday', all: true }));
    const other = testBus.done(replay.plan('orders', { id: 'monday', limit: 1 }));
    await expect(other).rejects.toMatchObject({ code: 'REDRIVE_REFUSED' });
  });

  it('is refused with an id that cannot be part of a key', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    for (const id of ['', 'a/b', 'x'.repeat(65)])
      await expect(
        testBus.done(testBus.replay.plan('orders', { id, all: true })),
      ).rejects.toMatchObject({ code: 'INVALID_DEAD_LETTER_FILTER', field: 'id' });
  });
});

describe('A purge before a time', () => {
  it('deletes the older letters, and refuses a time of the future', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay, runtime } = testBus;
    const before = runtime.now();
    await testBus.fails('3');
    const late = testBus.done(replay.purge('orders', { before: runtime.now() + 60_000 }));
    await expect(late).rejects.toMatchObject({ field: 'before' });
    const report = await testBus.done(replay.purge('orders', { before, by: 'ann' }));
    expect(report).toMatchObject({ deleted: 2 });
    expect(await testBus.deadLetters()).toEqual(['3']);
  });
});
