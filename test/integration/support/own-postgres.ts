import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { Client } from 'pg';
import { onFreePorts } from '../../../libs/testing/src/processes/free-ports.js';

const LIMIT = { timeoutMs: 120_000 };
const DEBIAN = '/usr/lib/postgresql';

/** A PostgreSQL of one suite, on a free port, which the suite may stop. */
export class OwnPostgres {
  /** The folder of the programs `initdb` and `postgres`; undefined without them. */
  static findPrograms(): string | undefined {
    const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : [];
    const folders = [
      ...versions.map((version) => join(DEBIAN, version, 'bin')),
      ...(process.env['PATH'] ?? '').split(':'),
    ];
    return folders.find((folder) => existsSync(join(folder, 'initdb')));
  }

  static async start(programs = OwnPostgres.findPrograms()): Promise<OwnPostgres> {
    if (programs === undefined) throw new Error('There is no initdb. Install PostgreSQL.');
    return onFreePorts(realRuntime, 1, async ([port = 0]) => {
      const server = new OwnPostgres(programs, port);
      await server.restart();
      return server;
    });
  }

  readonly #folder = mkdtempSync(join(tmpdir(), 'own-postgres-'));
  /** PostgreSQL refuses to run as root. */
  readonly #user: Partial<ReturnType<typeof idsOf>> =
    process.getuid?.() === 0 ? idsOf('postgres') : {};
  #process: ReturnType<typeof spawn> | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly programs: string,
    private readonly port: number,
  ) {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    const { status, stderr } = spawnSync(
      join(programs, 'initdb'),
      ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '-N', '--locale=C', '-E', 'UTF8'],
      { ...this.#user, cwd: this.#folder, encoding: 'utf8', timeout: 180_000 },
    );
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** Ends all connections at once, as a crash does. What is committed is kept. */
  async crash(): Promise<void> {
    this.#process?.kill('SIGQUIT');
    await this.#ended;
  }

  /** Starts the server with its data, and waits until it answers. */
  async restart(): Promise<void> {
    await this.crash();
    const started = spawn(
      join(this.programs, 'postgres'),
      ['-D', this.#data, '-p', `${this.port}`, '-k', this.#folder, '-c', 'max_connections=150'],
      { ...this.#user, cwd: this.#folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let log = '';
    let hasEnded = false;
    started.stderr?.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-10_000)));
    this.#process = started;
    this.#ended = new Promise((resolve) =>
      started.once('close', () => {
        hasEnded = true;
        resolve(undefined);
      }),
    );
    await eventually(async () => {
      if (hasEnded) throw new Error(`PostgreSQL did not start: ${log}`);
      return answers(this.url);
    }, LIMIT);
  }

  /** Ends the server and deletes its data. */
  async end(): Promise<void> {
    await this.crash();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function idsOf(user: string): { readonly uid: number; readonly gid: number } {
  const id = (option: string): number =>
    Number(execFileSync('id', [option, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
