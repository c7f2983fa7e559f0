import { request } from 'node:http';
import { Readable } from 'node:stream';
import type { FetchFunction } from '../../src/admin-client/admin-client.js';
import { runCommandLine } from '../../src/cli/command-line.js';
import { AdminTestBus } from '../admin/admin-test-bus.spec-support.js';

/** `fetch` over a connection of its own, so that a test bus can close. */
const fetchOnce: FetchFunction = (url, { method, headers, body }) =>
  new Promise((resolve, reject) => {
    request(
      url,
      { method, headers: { ...headers, connection: 'close' }, agent: false },
      (answer) => {
        const status = answer.statusCode ?? 0;
        const stream = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
        const text = () => new Response(stream).text();
        resolve({ ok: status < 400, status, body: stream, text });
      },
    )
      .on('error', reject)
      .end(body);
  });

const ALONE = 'Only this process was told.\n';

describe('The command eventbus', () => {
  let bus: AdminTestBus;

  beforeEach(async () => {
    bus = await AdminTestBus.started();
  });
  afterEach(() => bus.end());

  async function eventbus(...args: readonly string[]) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await bus.done(
      runCommandLine(args, {
        environment: { EVENTBUS_URL: `http://127.0.0.1:${bus.port}/eventbus` },
        out: (text) => out.push(text),
        err: (text) => err.push(text),
        isTerminal: false,
        fetch: (url, { headers, ...rest }) =>
          fetchOnce(url, { ...rest, headers: { 'x-operator': 'joe', ...headers } }),
      }),
    );
    return { code, out: out.join(''), err: err.join('') };
  }

  it('shows the bindings as a table, and one binding with its counts', async () => {
    const all = await eventbus('status');
    expect(all).toMatchObject({ code: 0, err: '' });
    expect(all.out).toMatch(/^BINDING +CLUSTER +STATE/);
    expect(all.out).toMatch(/^orders +default +RUNNING/m);
    const one = await eventbus('status', 'orders');
    expect(one.out).toMatch(/processed/);
    expect(one.out).toMatch(/orders +default +RUNNING +UP +orders +shop/);
  });

  it('writes the answer of the API with --json', async () => {
    const { out } = await eventbus('status', '--json');
    expect(JSON.parse(out)).toMatchObject({ bindings: [{ name: 'orders', state: 'RUNNING' }] });
  });

  it('pauses and resumes a binding with a reason, which is in the audit', async () => {
    const paused = await eventbus('pause', 'orders', '--reason', 'lunch');
    expect(paused).toEqual({ code: 0, out: `orders is PAUSED\n${ALONE}`, err: '' });
    const { body } = await bus.ask('GET', 'bindings/orders');
    expect(body).toMatchObject({ lastCommand: { by: 'joe', reason: 'lunch' } });
    expect((await eventbus('resume', 'orders')).out).toBe(`orders is RUNNING\n${ALONE}`);
  });

  it('pauses one retry tier', async () => {
    await eventbus('pause', 'orders', '--tier', '1');
    const { body } = await bus.ask('GET', 'bindings/orders');
    expect(body['containers']).toMatchObject([
      { tier: 0, pauses: [] },
      { tier: 1, pauses: ['tier'] },
    ]);
    expect(await eventbus('stop', 'orders', '--tier', '1')).toMatchObject({ code: 2 });
  });

  it('says which processes have done a command, and lists them', async () => {
    const alone = await eventbus('pause', 'orders');
    expect(alone).toMatchObject({ code: 0 });
    expect(alone.out).toContain('Only this process was told');
    expect((await eventbus('instances')).out).toContain('Only this process is known');
    await bus.end();
    const fleet = { controlTopic: 'control', provisioning: 'create', instance: 'web' } as const;
    bus = await AdminTestBus.started({}, { fleet: { ...fleet, version: '1.2.3' } });
    const paused = await eventbus('pause', 'orders', '--reason', 'why', '--wait', '5s');
    expect(paused.out).toContain('1 of 1 instances have done it');
    expect(paused.out).toMatch(/^web +done +PAUSED/m);
    const { out } = await eventbus('instances');
    expect(out).toMatch(/^web +1\.2\.3 .* orders +PAUSED +operator +2 /m);
    expect(out).toMatch(/In force: orders paused since .* by joe: why/);
    expect(await eventbus('pause', 'orders', '--scope', 'all')).toMatchObject({ code: 2 });
  });

  it('shows the configuration of a binding, and changes it', async () => {
    const shown = await eventbus('config', 'orders');
    expect(shown.out).toMatch(/^concurrency +1 +default/m);
    expect(shown.out).toMatch(/^topic +orders +code +the options +needs a restart/m);
    const set = ['--set', 'concurrency=2', '--set', 'retry.tier0.initialBackoffMs=2s'];
    const changed = await eventbus('config', 'orders', ...set, '--reason', 'load');
    expect(changed.out).toMatch(/^concurrency +2 +runtime/m);
    expect(changed.out).toMatch(/^retry\.tier0\.initialBackoffMs +2000 +runtime/m);
    expect((await eventbus('config', 'orders', '--set', 'concurrency=')).out).toMatch(
      /^concurrency +1 +default/m,
    );
    expect((await eventbus('config', 'orders', '--set', 'topic=x')).code).toBe(1);
    expect((await eventbus('config', 'orders', '--set', 'nonsense')).code).toBe(2);
  });

  it('stops and starts a binding', async () => {
    expect((await eventbus('stop', 'orders')).out).toBe(`orders is STOPPED\n${ALONE}`);
    expect((await eventbus('start', 'orders')).out).toBe(`orders is RUNNING\n${ALONE}`);
  });

  it('shows the lag, and the health with exit code 0 while it is UP', async () => {
    expect((await eventbus('lag')).out).toMatch(/^orders +default +orders +shop +0$/m);
    expect((await eventbus('lag', 'orders', '--json')).out).toContain('"lag": 0');
    expect(await eventbus('health')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^UP\n/),
    });
  });

  it('finds, plans, runs and purges dead letters', async () => {
    await bus.fails('1', '2', '3');
    expect((await eventbus('dlt', 'groups', 'orders')).out).toMatch(/orders\.DLT: 3 dead letters/);
    const { out } = await eventbus('dlt', 'peek', 'orders', '--where', 'exceptionClass=Error');
    expect(out.match(/orders-\d@\d/g)).toHaveLength(3);
    const planned = await eventbus('dlt', 'plan', 'orders', '--all', '--id', 'monday');
    expect(planned.out).toContain('Plan monday: 3 dead letters of orders.DLT to orders');
    bus.isCured = true;
    const ran = await eventbus('dlt', 'run', 'orders', 'monday');
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.out).toContain('3 selected = 3 replayed + 0 skipped + 0 failed + 0 remaining');
    expect(ran.err).toContain('3 of 3, completed');
    expect((await eventbus('dlt', 'operations', 'orders')).out).toMatch(/^monday +completed +3/m);
    expect((await eventbus('dlt', 'watch', 'orders', 'monday')).code).toBe(0);
    const purged = await eventbus('dlt', 'purge', 'orders', '--plan', 'monday');
    expect(purged).toMatchObject({
      code: 0,
      out: expect.stringContaining('3 dead letters deleted'),
    });
  });

  it('runs a canary first, and approves the rest', async () => {
    await bus.fails('1', '2', '3');
    bus.isCured = true;
    await eventbus('dlt', 'plan', 'orders', '--all', '--id', 'careful');
    const running = eventbus('dlt', 'run', 'orders', 'careful', '--canary', '1', '--on-approval');
    await bus.runtime.advance(20_000);
    const approved = await eventbus('dlt', 'approve', 'orders', 'careful');
    expect(approved.out).toContain('canary: good, 1 good, 0 bad, 0 undecided');
    expect(await running).toMatchObject({ code: 0, err: expect.stringContaining('awaiting-appr') });
  });

  it('ends with exit code 1 if a redrive is cancelled', async () => {
    await bus.fails('1');
    await eventbus('dlt', 'plan', 'orders', '--all', '--id', 'late');
    expect((await eventbus('dlt', 'cancel', 'orders', 'late')).out).toContain('is cancelled');
    expect(await eventbus('dlt', 'watch', 'orders', 'late')).toMatchObject({ code: 1 });
  });

  it('tells the code and the message of a refusal', async () => {
    expect(await eventbus('pause', 'nobody')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^BINDING_NOT_FOUND: /),
    });
  });
});

describe('The command line of eventbus', () => {
  async function run(args: readonly string[], fetch?: FetchFunction, environment = {}) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCommandLine(args, {
      environment,
      out: (text) => out.push(text),
      err: (text) => err.push(text),
      isTerminal: true,
      ...(fetch && { fetch }),
    });
    return { code, out: out.join(''), err: err.join('') };
  }

  const answering =
    (
      value: unknown,
      seen: (url: string, request: Parameters<FetchFunction>[1]) => void,
    ): FetchFunction =>
    async (url, sent) => {
      seen(url, sent);
      return { ok: true, status: 200, body: null, text: async () => JSON.stringify(value) };
    };

  it('shows all commands with --help', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    expect(out).toContain('dlt run <binding> <id>');
  });

  it.each([
    [[], 'Usage: eventbus'],
    [['explode'], "There is no command 'explode'"],
    [['constructor'], "There is no command 'constructor'"],
    [['pause'], 'Write: eventbus pause <binding>'],
    [['pause', 'orders', 'payments'], 'Write: eventbus pause <binding>'],
    [['status', '--colour'], '--colour'],
    [['pause', 'orders', '--tier', 'one'], '--tier must be a number'],
    [['status', '--header', 'no colon'], "--header 'name: value'"],
    [['dlt', 'plan', 'orders'], 'Say which dead letters'],
    [['dlt', 'plan', 'orders', '--where', 'nonsense'], 'is no condition'],
    [['dlt', 'plan', 'orders', '--where', 'colour=red'], 'Unknown field colour'],
    [['dlt', 'plan', 'orders', '--where', 'tier^=1'], 'tier has no prefix'],
    [['dlt', 'plan', 'orders', '--where', 'tier=one'], 'compared with a whole number'],
    [['dlt', 'plan', 'orders', '--where', 'key=1', '--where', 'key=2'], 'names key twice'],
    [['dlt', 'plan', 'orders', '--filter', '{'], '--filter must be JSON'],
    [['dlt', 'plan', 'orders', '--filter', '{}', '--where', 'key=1'], 'not both'],
    [['dlt', 'peek', 'orders', '--status', 'lost'], '--status must be open'],
    [['dlt', 'purge', 'orders'], 'Say what to delete'],
    [['dlt', 'run', 'orders', 'x', '--on-approval'], '--on-approval needs --canary'],
  ])('refuses %j with exit code 2 and what to write', async (args, message) => {
    const { code, out, err } = await run(args);
    expect([code, `${out}${err}`]).toEqual([2, expect.stringContaining(message)]);
  });

  it('sends conditions as the filter of the API', async () => {
    const bodies: unknown[] = [];
    const fetch = answering({ letters: [] }, (_, { body }) => bodies.push(JSON.parse(body ?? '')));
    const where = [
      'exceptionClass=A=B',
      'key^=eu-',
      'tier=1..2',
      'replays=3',
      'originalOffset=5..',
      'header.tenant=acme',
      'olderThan=10m',
    ].flatMap((condition) => ['--where', condition]);
    await run(['dlt', 'peek', 'orders', ...where, '--limit', '5', '--status', 'open'], fetch);
    expect(bodies).toEqual([
      {
        limit: 5,
        status: 'open',
        where: {
          exceptionClass: 'A=B',
          key: { prefix: 'eu-' },
          tier: { from: 1, to: 2 },
          replays: 3,
          originalOffset: { from: '5' },
          headers: { tenant: 'acme' },
          olderThan: '10m',
        },
      },
    ]);
  });

  it('takes the address, the authorisation and the cluster from options and environment', async () => {
    const requests: unknown[] = [];
    const fetch = answering({ name: 'orders', state: 'PAUSED' }, (url, { headers }) =>
      requests.push([url, headers['authorization'], headers['x-tenant']]),
    );
    const environment = { EVENTBUS_URL: 'http://one/bus', EVENTBUS_AUTHORIZATION: 'Bearer t' };
    await run(['pause', 'orders', '--cluster', 'eu'], fetch, environment);
    await run(['pause', 'orders', '--url', 'http://two/', '--header', 'X-Tenant: a'], fetch);
    expect(requests).toEqual([
      ['http://one/bus/bindings/orders/pause?cluster=eu', 'Bearer t', undefined],
      ['http://two/bindings/orders/pause', undefined, 'a'],
    ]);
  });

  it('says that the API does not answer, and how to give its address', async () => {
    const failed = Object.assign(new TypeError('fetch failed'), {
      cause: { code: 'ECONNREFUSED' },
    });
    const { code, err } = await run(['status'], () => Promise.reject(failed));
    expect(code).toBe(1);
    expect(err).toContain('did not answer: fetch failed (ECONNREFUSED). Give its address by --url');
  });

  it('writes no character of a dead letter that changes the terminal', async () => {
    const hostile = '\u001B[2J\u202Eevil\r\n';
    const answer = { letters: [{ position: { partition: 0, offset: '1' }, key: hostile }] };
    const { out } = await run(
      ['dlt', 'peek', 'orders'],
      answering(answer, () => undefined),
    );
    expect(out).toContain('\\u001b[2J\\u202eevil\\u000d\\u000a');
    for (const character of ['\u001B', '\u202E', '\r']) expect(out).not.toContain(character);
  });
});
