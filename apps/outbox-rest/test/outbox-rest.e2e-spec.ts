import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@nest-event-bus/testing';
import { Client } from 'pg';
import { isThere } from '../../../test/integration/support/describe-with-service.js';

const APP = join(__dirname, '..');
const POSTGRES = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const LIMIT = { timeoutMs: 120_000 };

interface Effects {
  readonly parcels: readonly string[];
  readonly refunds: readonly string[];
}

describe('The demo outbox-rest', () => {
  beforeAll(() => {
    const options = { cwd: APP, timeout: 240_000, encoding: 'utf8' } as const;
    const { status, stdout } = spawnSync('npx', ['tsc', '-b'], options);
    if (status !== 0) throw new Error(stdout);
  }, 300_000);

  describe('on SQLite', () => {
    const folder = mkdtempSync(join(tmpdir(), 'outbox-rest-'));
    demoCases(() => `sqlite:${join(folder, 'shop.db')}`);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
  });

  (isThere(POSTGRES) ? describe : describe.skip)('on PostgreSQL', () => {
    const schema = `outbox_rest_${process.pid}`;
    const change = async (statement: string): Promise<void> => {
      const client = new Client({ connectionString: POSTGRES });
      await client.connect();
      await client.query(statement);
      await client.end();
    };
    beforeAll(() => change(`CREATE SCHEMA ${schema}`));
    demoCases(() => {
      const url = new URL(POSTGRES);
      url.searchParams.set('options', `-c search_path=${schema}`);
      return url.href;
    });
    afterAll(() => change(`DROP SCHEMA ${schema} CASCADE`));
  });
});

function demoCases(databaseUrl: () => string): void {
  let demo: ChildProcess;
  let output = '';
  let url: string;

  beforeAll(async () => {
    demo = spawn('node', ['dist/main.js'], {
      cwd: APP,
      env: {
        ...process.env,
        PORT: '0',
        NO_COLOR: '1',
        KAFKA_BROKERS: '',
        DATABASE_URL: databaseUrl(),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [demo.stdout, demo.stderr])
      stream?.on('data', (text: Buffer) => (output += text.toString()));
    const address = /http:\/\/localhost:\d+/;
    await eventually(() => {
      if (demo.exitCode !== null) throw new Error(output);
      return address.test(output);
    }, LIMIT);
    url = address.exec(output)?.[0] ?? '';
  }, 180_000);

  afterAll(() => demo.kill('SIGKILL'));

  async function ask<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return (await response.json()) as T;
  }

  const effectsAre = (isRight: (effects: Effects) => boolean): Promise<unknown> =>
    eventually(async () => isRight(await ask<Effects>('GET', '/effects')), LIMIT);

  it('publishes a placed order to the bus, whose handler gets it', async () => {
    const { id } = await ask<{ id: string }>('POST', '/orders', { article: 'lamp' });
    await effectsAre(({ parcels }) => parcels.includes(id));
  });

  it('stores neither order nor event if the transaction fails', async () => {
    const before = await ask<readonly unknown[]>('GET', '/orders');
    const refused = await ask<{ message: string }>('POST', '/orders', {});
    expect(refused.message).toBe('Name the article of the order.');
    expect(await ask('GET', '/orders')).toEqual(before);
    // A later order is handled, so an event of the refused one would have been handled before.
    const { id } = await ask<{ id: string }>('POST', '/orders', { article: 'chair' });
    await effectsAre(({ parcels }) => parcels.includes(id));
    expect((await ask<Effects>('GET', '/effects')).parcels).toHaveLength(before.length + 1);
  });

  it('replays a DEAD event after its cause is gone', async () => {
    const { id } = await ask<{ id: string }>('POST', '/orders', { article: 'table' });
    await ask('POST', '/bank/closed');
    await ask('POST', `/orders/${id}/cancel`);
    interface Dead {
      readonly eventId: string;
      readonly lastError: string;
    }
    let dead: readonly Dead[] = [];
    await eventually(async () => {
      dead = await ask<readonly Dead[]>('GET', '/outbox/dead');
      return dead.length === 1;
    }, LIMIT);
    expect(dead[0]?.lastError).toContain('The bank is closed.');
    await ask('POST', '/bank/open');
    await ask('POST', `/outbox/dead/${dead[0]?.eventId}/replay`);
    await effectsAre(({ refunds }) => refunds.includes(id));
    expect(await ask('GET', '/outbox/dead')).toEqual([]);
  });

  it('ends after Ctrl-C, and has logged no error but that of the DEAD event', async () => {
    const { id } = await ask<{ id: string }>('POST', '/orders', { article: 'desk' });
    await effectsAre(({ parcels }) => parcels.includes(id));
    demo.kill('SIGINT');
    await eventually(() => demo.exitCode !== null || demo.signalCode !== null, LIMIT);
    expect(output.match(/ERROR/g)).toHaveLength(1);
  });
}
