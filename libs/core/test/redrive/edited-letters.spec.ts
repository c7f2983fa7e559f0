import type { LetterEdit } from '../../src/redrive/editing/letter-edit.js';
import { eventbusHeader } from '../support/recording-test-bus.spec-support.js';
import { DyingProcess } from './dying-driver.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const NOTE = { by: 'ann', reason: 'the amount was text' };
const FIRST = { partition: 0, offset: 0 };

const edit = (changes: LetterEdit, position = FIRST) =>
  testBus.done(testBus.replay.editAndReplay('orders', position, changes, NOTE));

const lastOrder = async () => (await testBus.records('orders')).at(-1)!;

describe('A dead letter that is edited and replayed', () => {
  it('is handled with its new value, and names what it was made of', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    testBus.cure();
    const report = await edit({ value: '17' });
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([17]);
    const written = await lastOrder();
    expect(eventbusHeader(written, 'edited-from')).toBe('orders.DLT/0/0');
    expect(eventbusHeader(written, 'replay-id')).toBe(report.replayId);
    expect(eventbusHeader(written, 'original-offset')).toBe('0');
    expect(report.digestBefore).not.toBe(report.digestAfter);
    const { letters } = await testBus.done(testBus.replay.list('orders'));
    expect(letters[0]).toMatchObject({
      status: 'replayed',
      decision: {
        ...NOTE,
        replayId: report.replayId,
        edited: { digestBefore: report.digestBefore, digestAfter: report.digestAfter },
      },
    });
    expect(letters[1]?.status).toBe('open');
  });

  it('keeps what the edit does not name, and loses the headers that it removes', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    const headers = [
      { key: 'tenant', value: 'acme' },
      { key: 'secret', value: 'x' },
    ];
    await testBus.write('orders', { key: 'k', value: '1', headers });
    await testBus.runtime.advance(5_000);
    testBus.cure();
    await edit({ key: 'k2', headers: { secret: null, channel: 'web' } });
    const written = await lastOrder();
    expect([String(written.key), String(written.value)]).toEqual(['k2', '1']);
    const own = written.headers.filter(({ key }) => !key.startsWith('x-eventbus-'));
    expect(own.map(({ key, value }) => [key, String(value)])).toEqual([
      ['tenant', 'acme'],
      ['channel', 'web'],
    ]);
  });

  it('is edited once, and again only after it was reopened', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    testBus.cure();
    await edit({ value: '17' });
    await expect(edit({ value: '18' })).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
      message: expect.stringContaining('is replayed. Reopen it first'),
    });
    await testBus.done(testBus.replay.reopen('orders', { at: [FIRST] }, NOTE));
    await edit({ value: '18' });
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([17, 18]);
  });

  it('is written exactly once, wherever the process dies', async () => {
    for (let deadlyCall = 1; ; deadlyCall++) {
      testBus = await RedriveTestBus.withLetters(['1']);
      testBus.cure();
      const dying = new DyingProcess(deadlyCall);
      const process = otherProcess(testBus, (driver) => dying.driver(driver));
      const first = process.editAndReplay('orders', FIRST, { value: '17' }, NOTE);
      await testBus.done(first.catch(() => undefined));
      // The operator repeats it, and is refused if it was done.
      await edit({ value: '17' }).catch(() => undefined);
      expect([dying.diedAt, (await testBus.values('orders')).slice(1)]).toEqual([
        dying.diedAt,
        ['17'],
      ]);
      await testBus.end();
      if (!dying.isDead) break;
    }
    testBus = await RedriveTestBus.withLetters([]);
  }, 240_000);

  it('leaves no payload in the ledger or the log', async () => {
    testBus = await RedriveTestBus.withLetters(['"before-secret"']);
    testBus.cure();
    await edit({ value: '"after-secret"', headers: { token: 'header-secret' } });
    const ledger = await testBus.records('orders.DLT.ledger');
    const written = ledger.map(({ key, value }) => `${String(key)} ${String(value)}`).join('\n');
    expect(written).toContain('"changed":["value","headers"]');
    for (const secret of ['before-secret', 'after-secret', 'header-secret']) {
      expect(written).not.toContain(secret);
      expect(testBus.log.everything.join('\n')).not.toContain(secret);
    }
    expect(await testBus.done(testBus.replay.actions('orders'))).toMatchObject([
      { action: 'edit-and-replay', ...NOTE, result: { digestAfter: expect.any(String) } },
    ]);
  });

  it('is refused if it belongs to another group, or does not exist', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    const headers = [{ key: 'x-eventbus-group-id', value: 'billing' }];
    await testBus.write('orders.DLT', { value: '2', headers });
    for (const position of [FIRST, { partition: 0, offset: 99 }, { partition: 7, offset: 0 }])
      await expect(edit({ value: '1' }, position)).rejects.toMatchObject({
        code: 'REDRIVE_REFUSED',
        message: expect.stringContaining('does not exist, or belongs to another binding'),
      });
    expect(await testBus.values('orders')).toEqual([]);
  });
});
