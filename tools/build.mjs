// Builds every package with TypeScript's build mode, then does two things that it does not do.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');

const compiled = spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

for (const name of readdirSync(join(root, 'libs'))) {
  const library = join(root, 'libs', name);
  if (!existsSync(join(library, 'tsconfig.cjs.json'))) continue;
  markAsCommonJs(join(library, 'dist/cjs'));
  for (const output of ['dist/esm', 'dist/cjs']) removeOrphans(library, join(library, output));
}

/**
 * The package says `"type": "module"`; this folder is the exception.
 * @param {string} folder
 */
function markAsCommonJs(folder) {
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
}

/**
 * Removes output whose source is gone; otherwise it would be packed forever.
 * @param {string} library
 * @param {string} output
 */
function removeOrphans(library, output) {
  for (const file of readdirSync(output, { recursive: true, withFileTypes: true })) {
    if (!file.isFile() || file.name === 'package.json') continue;
    const path = join(file.parentPath, file.name);
    const source = relative(output, path).replace(/\.(?:d\.)?(c?)[jt]s(?:\.map)?$/, '.$1ts');
    if (!existsSync(join(library, 'src', source))) rmSync(path);
  }
}
