// Runs the suites under test/chaos, or those of one area (the name of a folder or file in it): `npm
// run test:chaos [area] [--smoke]`. With --smoke the suites see CHAOS_SMOKE=1 and run a short form.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..');
const suites = join(root, 'test/chaos');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: 'boolean', default: false } },
});
const [area = ''] = positionals;
const found = existsSync(suites)
  ? readdirSync(suites, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.chaos.ts') && file.includes(area),
    )
  : [];

if (found.length > 0) {
  process.exitCode = runJest();
} else if (area === '') {
  console.log('chaos: there is no suite yet, nothing was run');
} else {
  console.error(`chaos: no suite under test/chaos has '${area}' in its name`);
  process.exitCode = 1;
}

function runJest() {
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
  const args = ['--config', 'test/chaos/jest.config.mjs', '--runInBand'];
  const paths = found.map((file) => join('test/chaos', file));
  const { status } = spawnSync(process.execPath, [jest, ...args, '--runTestsByPath', ...paths], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...(values.smoke ? { CHAOS_SMOKE: '1' } : {}) },
  });
  return status ?? 1;
}
