// Writes docs/reference/admin-api.md from the route table of libs/core/src/admin/api/routes. With
// `--check` it writes nothing, and fails if the page is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { adminReference } from './admin-reference/page.mjs';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/reference/admin-api.md');

/** The table imports nothing but itself, so it can be bundled into one module. */
const { outputFiles } = await build({
  entryPoints: [join(root, 'libs/core/src/admin/api/routes/admin-routes.ts')],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'neutral',
});
const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
const { ADMIN_ROUTES } = await import(`data:text/javascript;base64,${source}`);
const text = adminReference(ADMIN_ROUTES);
if (!process.argv.includes('--check')) writeFileSync(page, text);
else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/reference/admin-api.md is not up to date. Run npm run docs:admin.');
  process.exitCode = 1;
}
