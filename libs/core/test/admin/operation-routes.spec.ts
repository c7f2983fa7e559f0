import { EventBusAdmin } from '../../src/admin/event-bus-admin.js';
import { AdminTestBus } from './admin-test-bus.spec-support.js';

describe('The admin API of redrives', () => {
  let bus: AdminTestBus;

  beforeEach(async () => {
    bus = await AdminTestBus.started();
    await bus.fails('1', '2', '3');
    bus.isCured = true;
  });
  afterEach(() => bus.end());

  const operations = 'bindings/orders/dlt/operations';

  it('starts an operation at once, and shows its progress under its location', async () => {
    const body = { id: 'monday', where: { exceptionClass: 'Error' }, reason: 'cured' };
    expect(await bus.ask('POST', operations, { body })).toMatchObject({
      status: 202,
      headers: { location: `/eventbus/${operations}/monday` },
      body: { id: 'monday', state: 'planned', selected: 3, createdBy: 'ann', reason: 'cured' },
    });
    await bus.runtime.advance(5_000);
    expect(await bus.ask('GET', `${operations}/monday`)).toMatchObject({
      status: 200,
      body: { state: 'completed', replayed: 3, remaining: 0 },
    });
    expect(bus.handled).toEqual([1, 2, 3]);
  });

  it('starts an operation once, however often its id is sent', async () => {
    const body = { id: 'monday', all: true };
    await Promise.all([
      bus.ask('POST', operations, { body }),
      bus.ask('POST', operations, { body }),
      bus.ask('POST', operations, { body }),
    ]);
    await bus.runtime.advance(5_000);
    await bus.ask('POST', operations, { body });
    await bus.runtime.advance(5_000);
    const { body: list } = await bus.ask('GET', operations);
    expect(list).toMatchObject({ operations: [{ id: 'monday', state: 'completed', replayed: 3 }] });
    expect(bus.handled).toEqual([1, 2, 3]);
    expect(await bus.ask('POST', operations, { body: { id: 'monday', limit: 1 } })).toMatchObject({
      status: 409,
      body: { code: 'REDRIVE_REFUSED' },
    });
  });

  it('refuses other options for an operation that runs, instead of ignoring them', async () => {
    await bus.ask('POST', operations, { body: { id: 'slow', all: true, rate: 0.1 } });
    await bus.runtime.advance(2_000);
    const asked = [
      [operations, { id: 'slow', all: true, rate: 5 }],
      [`${operations}/slow/run`, { rate: 5 }],
    ] as const;
    for (const [path, body] of asked)
      expect(await bus.ask('POST', path, { body })).toMatchObject({
        status: 409,
        body: { code: 'REDRIVE_REFUSED' },
      });
    for (const body of [{}, { rate: 0.1 }])
      expect(await bus.ask('POST', `${operations}/slow/run`, { body })).toMatchObject({
        status: 202,
      });
  });

  it('replays a canary first, and the rest after an approval', async () => {
    const canary = { letters: 1, continue: 'on-approval' };
    await bus.ask('POST', operations, { body: { id: 'careful', all: true, canary } });
    await bus.runtime.advance(20_000);
    const waiting = await bus.ask('GET', `${operations}/careful`);
    expect(waiting.body).toMatchObject({
      state: 'awaiting-approval',
      replayed: 1,
      remaining: 2,
      canary: { letters: 1, verdict: 'good', good: 1, bad: 0, undecided: 0 },
    });
    const approved = await bus.ask('POST', `${operations}/careful/approve`, {
      body: { reason: 'looks good' },
    });
    expect(approved).toMatchObject({ status: 200, body: { canary: { approvedBy: 'ann' } } });
    await bus.runtime.advance(20_000);
    const ended = await bus.ask('GET', `${operations}/careful`);
    expect(ended.body).toMatchObject({ state: 'completed', replayed: 3 });
  });

  it('stops after a canary that fails, and refuses its approval', async () => {
    bus.isCured = false;
    await bus.ask('POST', operations, { body: { id: 'bad', all: true, dryRun: true } });
    await bus.ask('POST', `${operations}/bad/run`, { body: { canary: 1 } });
    await bus.runtime.advance(30_000);
    const { body } = await bus.ask('GET', `${operations}/bad`);
    expect(body).toMatchObject({
      state: 'rejected',
      replayed: 1,
      remaining: 2,
      canary: { verdict: 'bad', bad: 1 },
    });
    expect(await bus.ask('POST', `${operations}/bad/approve`)).toMatchObject({
      status: 409,
      body: { code: 'REDRIVE_REFUSED' },
    });
  });

  it('takes a rate that grows, and refuses one that does not', async () => {
    const ramp = { from: 1, to: 100, every: '10s' };
    await bus.ask('POST', operations, { body: { id: 'slow', all: true, ramp } });
    await bus.runtime.advance(500);
    expect(bus.handled.length).toBeLessThan(3);
    await bus.runtime.advance(30_000);
    expect(bus.handled).toEqual([1, 2, 3]);
    for (const pace of [{ ramp, rate: 5 }, { ramp: { ...ramp, from: 200 } }])
      expect(await bus.ask('POST', `${operations}/slow/run`, { body: pace })).toMatchObject({
        status: 400,
      });
  });

  it('plans with dryRun and replays nothing, until the plan is run', async () => {
    const { body } = await bus.ask('POST', operations, { body: { all: true, dryRun: true } });
    await bus.runtime.advance(10_000);
    expect(bus.handled).toEqual([]);
    const path = `${operations}/${String(body['id'])}`;
    expect(await bus.ask('POST', `${path}/run`, { body: { rate: 100 } })).toMatchObject({
      status: 202,
      headers: { location: `/eventbus/${path}` },
    });
    await bus.runtime.advance(10_000);
    expect(bus.handled).toEqual([1, 2, 3]);
  });

  it('cancels an operation, which then cannot be run', async () => {
    await bus.ask('POST', operations, { body: { id: 'slow', all: true, dryRun: true } });
    expect(await bus.ask('DELETE', `${operations}/slow`)).toMatchObject({
      status: 200,
      body: { state: 'cancelled', replayed: 0 },
    });
    expect(await bus.ask('POST', `${operations}/slow/run`)).toMatchObject({
      status: 409,
      body: { code: 'REDRIVE_REFUSED' },
    });
    expect(bus.handled).toEqual([]);
  });

  it('refuses an empty filter, and a selection that was not written', async () => {
    for (const body of [
      {},
      { where: {} },
      { where: { exceptionClass: 'Error' }, all: true },
      { all: false },
      { all: true, id: 'a/b' },
      { all: true, to: { tier: 0 } },
      { all: true, rate: 0 },
      { where: { exceptionClass: { regex: '.*' } } },
      { where: { unknown: 'x' } },
      { where: { deadLetteredAt: { from: 'yesterday' } } },
      { all: true, unknown: 1 },
      [],
      'text',
    ])
      expect({ sent: body, ...(await bus.ask('POST', operations, { body })) }).toMatchObject({
        sent: body,
        status: 400,
      });
    expect(await bus.ask('POST', operations)).toMatchObject({ status: 400 });
    expect((await bus.ask('GET', operations)).body).toEqual({ operations: [] });
  });

  it('answers 404 for an unknown operation, also before a stream', async () => {
    for (const path of [`${operations}/none`, `${operations}/none/events`])
      expect(await bus.ask('GET', path)).toMatchObject({
        status: 404,
        body: { code: 'REDRIVE_PLAN_NOT_FOUND' },
      });
  });

  it('sends the progress as server-sent events, until the operation ends', async () => {
    await bus.ask('POST', operations, { body: { id: 'watched', all: true, dryRun: true } });
    const following = bus.ask('GET', `${operations}/watched/events`);
    await bus.ask('POST', `${operations}/watched/run`);
    const { headers, text } = await following;
    expect(headers['content-type']).toContain('text/event-stream');
    const states = text
      .split('\n\n')
      .filter((event) => event.startsWith('data: '))
      .map((event) => (JSON.parse(event.slice(6)) as { state: string }).state);
    expect(states[0]).toBe('planned');
    expect(states.at(-1)).toBe('completed');
  });
});

describe('A redrive that an application starts by EventBusAdmin', () => {
  let bus: AdminTestBus;
  let admin: EventBusAdmin;

  beforeEach(async () => {
    bus = await AdminTestBus.started();
    await bus.fails('1', '2', '3');
    admin = bus.application.get(EventBusAdmin);
  });
  afterEach(() => bus.end());

  it('has the canary that was asked for, and is followed until its canary is bad', async () => {
    const request = { id: 'careful', all: true, canary: 1 };
    await bus.done(admin.startOperation('orders', request));
    const states: string[] = [];
    const follow = async (): Promise<void> => {
      const { signal } = new AbortController();
      for await (const { report } of admin.follow('orders', 'careful', signal))
        states.push(report.state);
    };
    await bus.done(follow());
    expect(states.at(-1)).toBe('rejected');
    expect((await bus.done(admin.operation('orders', 'careful'))).report).toMatchObject({
      replayed: 1,
      remaining: 2,
      canary: { letters: 1, verdict: 'bad' },
    });
    await expect(bus.done(admin.runOperation('orders', 'careful'))).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
    });
  });

  it('has the ramp that was asked for, also when its end is waited for', async () => {
    bus.isCured = true;
    const ramp = { from: 0.01, to: 0.01, every: '1h' } as const;
    const { report } = await bus.done(admin.replay('orders', { all: true, ramp }, 1_000));
    expect(report).toMatchObject({ state: 'running', replayed: 1, remaining: 2 });
  });

  it('is refused before a plan is stored if an option of its run is wrong', async () => {
    const request = { all: true, canary: 0 };
    await expect(bus.done(admin.startOperation('orders', request))).rejects.toMatchObject({
      code: 'INVALID_DEAD_LETTER_FILTER',
    });
    expect(await bus.done(admin.operations('orders'))).toEqual([]);
  });
});
