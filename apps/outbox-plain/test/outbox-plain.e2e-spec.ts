import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const APP = join(__dirname, '..');
const LIMIT = { timeout: 150_000, encoding: 'utf8' } as const;

describe('The demo outbox-plain', () => {
  let folder: string;

  beforeAll(() => {
    const { status, stdout } = spawnSync('npx', ['tsc', '-b'], { cwd: APP, ...LIMIT });
    if (status !== 0) throw new Error(stdout);
  }, 300_000);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'outbox-plain-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs the demo to its end. Returns the numbers of the delivered orders. */
  function run(environment: Readonly<Record<string, string>> = {}): Run {
    const { signal, stdout, stderr } = spawnSync('node', ['dist/main.js'], {
      cwd: APP,
      env: { ...process.env, DATABASE: join(folder, 'demo.db'), ...environment },
      ...LIMIT,
    });
    if (stderr !== '') throw new Error(stderr);
    const delivered = [...stdout.matchAll(/^delivered order (\d+)/gm)].map(([, id]) => Number(id));
    const [, orders] = /^(\d+) orders are in the database$/m.exec(stdout) ?? [];
    return { isKilled: signal === 'SIGKILL', delivered, orders: Number(orders), stdout };
  }

  it('delivers each order once, and nothing of an order that is rolled back', () => {
    const { isKilled, delivered, orders, stdout } = run();
    expect({ isKilled, orders }).toEqual({ isKilled: false, orders: 3 });
    expect(sorted(delivered)).toEqual([1, 2, 3]);
    expect(stdout).toContain('refused: Nobody cannot place an order.');
  });

  it.each([
    { crash: 'before-commit', delivered: [1] },
    { crash: 'before-dispatch', delivered: [1, 2] },
    { crash: 'before-delivery', delivered: [1, 2] },
    { crash: 'after-delivery', delivered: [1, 2, 2] },
  ])('loses no order that was committed if it dies $crash', ({ crash, delivered }) => {
    const first = run({ ORDERS: '1' });
    const killed = run({ ORDERS: '1', CRASH: crash });
    expect(killed.isKilled).toBe(true);
    const again = run({ ORDERS: '0' });
    expect(again).toMatchObject({ isKilled: false, orders: new Set(delivered).size });
    const all = [first, killed, again].flatMap((each) => each.delivered);
    expect(sorted(all)).toEqual(delivered);
  });

  it('refuses a place of a crash that it does not know, and names the known ones', () => {
    expect(() => run({ CRASH: 'later' })).toThrow(
      'CRASH must be one of before-commit, before-dispatch, before-delivery, after-delivery.',
    );
  });
});

interface Run {
  readonly isKilled: boolean;
  readonly delivered: readonly number[];
  readonly orders: number;
  readonly stdout: string;
}

const sorted = (ids: readonly number[]): readonly number[] =>
  ids.toSorted((one, other) => one - other);
