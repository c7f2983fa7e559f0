// Writes docs/reference/admin-api.md and outbox-admin-api.md from the route tables. With `--check` it
// writes nothing, and fails if a page is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { adminReference } from './admin-reference/page.mjs';

const root = join(import.meta.dirname, '..');
const api = join(root, 'libs/core/src/admin/api');

/**
 * The tables need little of core, so that they can be bundled into one module.
 * @type {import('esbuild').Plugin}
 */
const smallCore = {
  name: 'small-core',
  setup(bundler) {
    bundler.onResolve({ filter: /^@nest-event-bus\/core$/ }, ({ path }) => ({
      path,
      namespace: 'small-core',
    }));
    bundler.onLoad({ filter: /.*/, namespace: 'small-core' }, () => ({
      contents:
        "export { defineRoutes } from './admin-route.ts'; export { adminSchema } from './admin-schema.ts';",
      resolveDir: api,
    }));
  },
};

/** @param {string} file */
async function tablesIn(file) {
  const { outputFiles } = await build({
    entryPoints: [join(root, file)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    plugins: [smallCore],
  });
  const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  return import(`data:text/javascript;base64,${source}`);
}

/**
 * @param {string} page
 * @param {string} text
 */
function put(page, text) {
  const path = join(root, page);
  if (!process.argv.includes('--check')) return writeFileSync(path, text);
  if (readFileSync(path, 'utf8') === text) return;
  console.error(`${page} is not up to date. Run npm run docs:admin.`);
  process.exitCode = 1;
}

const { ADMIN_ROUTES } = await tablesIn('libs/core/src/admin/api/routes/admin-routes.ts');
put('docs/reference/admin-api.md', adminReference(ADMIN_ROUTES));
const { outboxRoutes } = await tablesIn('libs/outbox-nest/src/bus/admin/outbox-routes.ts');
put('docs/reference/outbox-admin-api.md', adminReference(outboxRoutes, 'outbox'));
