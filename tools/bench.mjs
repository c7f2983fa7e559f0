// Runs test/bench/<what>.mjs: `npm run bench -- <what>`. The bench has its own package.json, which
// is no workspace, so that the packages for comparison are installed by this tool and not by `npm
// ci`.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bench = join(root, 'test/bench');
const [what = '', ...options] = process.argv.slice(2);
const script = join(bench, `${what}.mjs`);

if (!existsSync(script) || what === '') {
  const names = existsSync(bench) ? readdirSync(bench) : [];
  const known = names.filter((name) => name.endsWith('.mjs')).map((name) => name.slice(0, -4));
  console.error(`usage: npm run bench -- <what>, where <what> is one of: ${known.join(', ')}`);
  process.exit(1);
}
console.log('Building the libraries ...');
step(process.execPath, ['tools/build.mjs']);
if (existsSync(join(bench, 'package.json')) && !existsSync(join(bench, 'node_modules'))) {
  console.log('Installing the other clients, which takes minutes the first time ...');
  step('npm', ['install', '--prefix', 'test/bench', '--no-audit', '--no-fund']);
}
console.log(`Starting ${what} ...`);
step(process.execPath, [script, ...options]);

/**
 * @param {string} command
 * @param {string[]} args
 */
function step(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
