import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const APP = join(__dirname, '..');
const LIMIT = { cwd: APP, timeout: 150_000, encoding: 'utf8' } as const;

describe('The demo outbox-two-databases', () => {
  let folder: string;
  let output: string;

  beforeAll(() => {
    const built = spawnSync('npx', ['tsc', '-b'], { ...LIMIT, timeout: 240_000 });
    if (built.status !== 0) throw new Error(built.stdout);
    folder = mkdtempSync(join(tmpdir(), 'outbox-two-'));
    output = run();
  }, 420_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(): string {
    const env = { ...process.env, DATABASES: folder };
    const { status, stdout, stderr } = spawnSync('node', ['dist/main.js'], { ...LIMIT, env });
    if (status !== 0) throw new Error(stderr + stdout);
    return stdout;
  }

  it('carries each order into the other database, and the confirmation back', () => {
    const rowsOf = (state: string): string =>
      JSON.stringify(['o-1', 'o-2', 'o-3'].map((id) => ({ id, state })));
    expect(output).toContain(`orders: ${rowsOf('invoiced')}`);
    expect(output).toContain(`invoices: ${rowsOf('open')}`);
  });

  it('refuses the writer of the other database, and stores nothing of that transaction', () => {
    expect(output).toMatch(/^refused: .*transaction/m);
    expect(output).not.toContain('o-4');
  });

  it('counts the events of each outbox under its own prefix', () => {
    expect(output).toContain('outbox_orders_dispatch_success_total 3');
    expect(output).toContain('outbox_invoices_dispatch_success_total 3');
  });
});
