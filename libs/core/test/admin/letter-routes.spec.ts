import { AdminTestBus } from './admin-test-bus.spec-support.js';

describe('The admin API of dead letters', () => {
  let bus: AdminTestBus;

  beforeEach(async () => {
    bus = await AdminTestBus.started();
    await bus.fails('1', '2', '3');
    bus.isCured = true;
  });
  afterEach(() => bus.end());

  const dlt = 'bindings/orders/dlt';

  it('lists letters without their payload, page by page', async () => {
    const first = await bus.ask('POST', `${dlt}/search`, { body: { limit: 2 } });
    expect(first).toMatchObject({
      status: 200,
      body: {
        letters: [
          {
            position: { partition: 0, offset: '0' },
            status: 'open',
            originalTopic: 'orders',
            originalOffset: '0',
            exceptionClass: 'Error',
            valueBytes: 1,
          },
          { position: { partition: 0, offset: '1' } },
        ],
        next: { partition: 0, offset: '1' },
      },
    });
    const { next } = first.body;
    const where = {
      exceptionClass: { prefix: 'Err' },
      deadLetteredAt: { from: '2000-01-01T00:00:00Z' },
    };
    const second = await bus.ask('POST', `${dlt}/search`, { body: { after: next, where } });
    expect(second.body).toMatchObject({ letters: [{ position: { offset: '2' } }] });
    expect(second.body).not.toHaveProperty('next');
  });

  it('shows the payload of one letter', async () => {
    expect(await bus.ask('GET', `${dlt}/letters/0/1/payload`)).toMatchObject({
      status: 200,
      body: { position: { offset: '1' }, encoding: 'utf8', value: '2' },
    });
    expect(await bus.ask('GET', `${dlt}/letters/0/77/payload`)).toMatchObject({
      status: 404,
      body: { code: 'DEAD_LETTER_NOT_FOUND' },
    });
  });

  it('edits a letter and replays it once, with an audit that holds no payload', async () => {
    bus.isCured = true;
    const path = `${dlt}/letters/0/1/edit`;
    const body = { reason: 'a wrong amount', value: '20', headers: { channel: 'web' } };
    const answer = await bus.ask('POST', path, { body });
    expect(answer).toMatchObject({
      status: 200,
      body: { replayId: expect.stringMatching(/\/0\/1$/) as unknown },
    });
    await bus.runtime.advance(5_000);
    expect(bus.handled).toEqual([20]);
    expect(await bus.ask('POST', path, { body })).toMatchObject({
      status: 409,
      body: { code: 'REDRIVE_REFUSED' },
    });
    const { body: audit } = await bus.ask('GET', `${dlt}/actions`);
    expect(audit).toMatchObject({
      actions: [
        { action: 'edit-and-replay', by: 'ann', reason: 'a wrong amount' },
        { action: 'edit-and-replay', result: { replayId: expect.any(String) as unknown } },
      ],
    });
    expect(JSON.stringify(audit)).not.toContain('web');
    const base64 = {
      reason: 'bytes',
      encoding: 'base64',
      value: Buffer.from('30').toString('base64'),
    };
    await bus.ask('POST', `${dlt}/letters/0/2/edit`, { body: base64 });
    await bus.runtime.advance(5_000);
    expect(bus.handled).toEqual([20, 30]);
  });

  it.each([
    ['no change', { reason: 'r' }],
    ['no reason', { value: '1' }],
    ['another field', { reason: 'r', partition: 3 }],
    ['a header of the bus', { reason: 'r', headers: { 'x-eventbus-replay-count': '0' } }],
    ['bytes that are no base64', { reason: 'r', encoding: 'base64', value: 'a b c!' }],
    ['a value that is no text', { reason: 'r', value: 7 }],
  ])('refuses an edit with %s', async (_what, body) => {
    expect(await bus.ask('POST', `${dlt}/letters/0/1/edit`, { body })).toMatchObject({
      status: 400,
    });
    expect((await bus.ask('POST', `${dlt}/search`)).body).toMatchObject({
      letters: [{ status: 'open' }, { status: 'open' }, { status: 'open' }],
    });
  });

  it('counts letters', async () => {
    expect(await bus.ask('GET', `${dlt}/stats`)).toMatchObject({
      status: 200,
      body: { count: 3, byStatus: { open: 3 }, byException: { Error: 3 }, groups: [{ count: 3 }] },
    });
  });

  it('replays the oldest letters, and answers with their number', async () => {
    expect(await bus.ask('POST', `${dlt}/replay?count=2&reason=cured`)).toMatchObject({
      status: 200,
      body: {
        replayed: 2,
        operation: { state: 'completed', createdBy: 'ann', reason: 'cured', remaining: 0 },
      },
    });
    await bus.runtime.advance(1_000);
    expect(bus.handled).toEqual([1, 2]);
  });

  it('replays the letters of a time range, and to a tier', async () => {
    const from = new Date(bus.runtime.now() - 60_000).toISOString();
    expect(
      await bus.ask('POST', `${dlt}/replay?from=${from}&to=${bus.runtime.now()}`),
    ).toMatchObject({ status: 200, body: { replayed: 3 } });
    expect(await bus.ask('POST', `${dlt}/replay-to-tier?tier=1&all=true`)).toMatchObject({
      status: 200,
      body: { replayed: 0, operation: { target: { tier: 1 }, targetTopic: 'orders.retry-1' } },
    });
    expect(await bus.ask('POST', `${dlt}/replay-to-tier?tier=9&count=1`)).toMatchObject({
      status: 404,
      body: { code: 'TIER_NOT_FOUND' },
    });
  });

  it('refuses a replay that selects nothing on purpose, or in two ways', async () => {
    for (const query of [
      '',
      '?count=1&all=true',
      '?count=1&from=2026-01-01T00:00:00Z',
      '?count=0',
      '?count=many',
      '?from=yesterday',
      '?all=false',
      '?count=1&wait=soon',
      '?count=1&wait=6m',
      '?count=1&unknown=1',
      '?count=1&count=2',
    ])
      expect({ query, ...(await bus.ask('POST', `${dlt}/replay${query}`)) }).toMatchObject({
        query,
        status: 400,
      });
    expect(bus.handled).toEqual([]);
  });

  it('answers 202 with the operation if the wait is over before the replay', async () => {
    const answer = await bus.ask('POST', `${dlt}/replay?count=3&wait=100ms&rate=1`);
    const { id } = answer.body;
    expect(answer).toMatchObject({
      status: 202,
      headers: { location: `/eventbus/${dlt}/operations/${String(id)}` },
    });
    await bus.runtime.advance(60_000);
    expect(await bus.ask('GET', `${dlt}/operations/${String(id)}`)).toMatchObject({
      body: { state: 'completed', replayed: 3 },
    });
  });

  it('marks letters, purges them, and lists who did it', async () => {
    const body = {
      status: 'permanently-failed',
      reason: 'refunded',
      at: [{ partition: 0, offset: '0' }],
    };
    expect(await bus.ask('POST', `${dlt}/marks`, { body })).toMatchObject({
      status: 200,
      body: { changed: 1, unchanged: 0 },
    });
    const { body: plan } = await bus.ask('POST', `${dlt}/operations`, {
      body: { limit: 1, dryRun: true },
    });
    expect(await bus.ask('DELETE', `${dlt}?plan=${String(plan['id'])}`)).toMatchObject({
      status: 200,
      body: { deleted: 2, partitions: [{ partition: 0, low: '2', deleted: 2 }] },
    });
    expect(await bus.ask('GET', `${dlt}/actions`)).toMatchObject({
      body: {
        actions: [
          { action: 'purge', by: 'ann', result: { deleted: 2 } },
          { action: 'mark-permanently-failed', by: 'ann', reason: 'refunded' },
        ],
      },
    });
  });

  it.each([
    ['a duration', () => '1ms'],
    ['an ISO duration', () => 'PT1S'],
    ['a time', (now: number) => new Date(now).toISOString()],
  ])('purges by age: %s', async (_name, text) => {
    const olderThan = encodeURIComponent(text(bus.runtime.now()));
    expect(await bus.ask('DELETE', `${dlt}?olderThan=${olderThan}&reason=old`)).toMatchObject({
      status: 200,
      body: { deleted: 3 },
    });
    expect(await bus.ask('GET', `${dlt}/actions`)).toMatchObject({
      body: { actions: [{ action: 'purge', by: 'ann', reason: 'old' }] },
    });
  });

  it('refuses a purge without a selection, or with two, and purges nothing', async () => {
    for (const query of ['', '?olderThan=1d&plan=x', '?olderThan=soon', '?olderThan=2999-01-01'])
      expect({ query, ...(await bus.ask('DELETE', `${dlt}${query}`)) }).toMatchObject({
        query,
        status: 400,
      });
    expect(await bus.ask('DELETE', `${dlt}?plan=unknown`)).toMatchObject({
      status: 404,
      body: { code: 'REDRIVE_PLAN_NOT_FOUND' },
    });
    expect(await bus.ask('GET', `${dlt}/stats`)).toMatchObject({ body: { count: 3 } });
  });
});
