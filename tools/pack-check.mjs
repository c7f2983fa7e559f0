// Packs every library, installs the tarballs into temporary apps and runs test/pack/cases.mjs there.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apps } from '../test/pack/cases.mjs';
import { recordCounts } from './counts.mjs';
import { packLibraries } from './pack-libraries.mjs';
import { run } from './run-command.mjs';
import { missingFromTarball } from './tarball-contents.mjs';

const root = join(import.meta.dirname, '..');
const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock'];
const counts = { passed: 0, failed: 0 };

const workshop = await mkdtemp(join(tmpdir(), 'nest-event-bus-pack-'));
try {
  const tarballs = await packAndCheck();
  const installed = await Promise.all(apps.map((app) => installApp(app, tarballs)));
  for (const { app, folder, failure } of installed) {
    for (const { promise, node } of app.cases) {
      await check(`${app.name}: ${promise}`, async () => {
        if (failure) throw failure;
        await run(process.execPath, node, { cwd: folder });
      });
    }
  }
} finally {
  await rm(workshop, { recursive: true, force: true });
}
recordCounts(counts);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
if (counts.failed > 0) process.exitCode = 1;

/** @returns {Promise<string[]>} */
async function packAndCheck() {
  const libraries = await packLibraries(root, workshop);
  for (const { name, manifest, files } of libraries)
    await check(`${name}: the tarball holds what package.json promises, and no specs`, async () => {
      const objections = missingFromTarball(manifest, files);
      if (objections.length > 0) throw new Error(objections.join('\n'));
    });
  return libraries.map(({ tarball }) => tarball);
}

/**
 * @param {import('../test/pack/cases.mjs').App} app
 * @param {string[]} tarballs
 */
async function installApp(app, tarballs) {
  const folder = join(workshop, app.name);
  await cp(join(root, 'test/pack/apps', app.folder), folder, { recursive: true });
  for (const { from, to } of app.receives) {
    await cp(join(root, from), join(folder, to), { recursive: true });
  }
  await pinVersions(join(folder, 'package.json'), app.pins ?? {});
  try {
    await run('npm', [...install, ...tarballs], { cwd: folder });
    return { app, folder };
  } catch (failure) {
    return { app, folder, failure };
  }
}

/**
 * @param {string} path of a package.json
 * @param {Record<string, string>} pins
 */
async function pinVersions(path, pins) {
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  for (const group of [manifest.dependencies ?? {}, manifest.devDependencies ?? {}]) {
    for (const name of Object.keys(group)) group[name] = pins[name] ?? group[name];
  }
  await writeFile(path, JSON.stringify(manifest, undefined, 2));
}

/**
 * @param {string} promise
 * @param {() => Promise<void>} show
 */
async function check(promise, show) {
  const startedAt = performance.now();
  try {
    await show();
    counts.passed++;
    console.log(`ok      ${promise} (${secondsSince(startedAt)} s)`);
  } catch (error) {
    counts.failed++;
    console.log(`FAILED  ${promise} (${secondsSince(startedAt)} s)\n${indented(error)}`);
  }
}

/** @param {number} startedAt */
function secondsSince(startedAt) {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

/** @param {unknown} error */
function indented(error) {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/^/gm, '        ');
}
