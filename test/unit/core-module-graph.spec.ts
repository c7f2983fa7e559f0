import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { moduleSpecifiers } from '../../tools/boundaries/source-file.mjs';
import { readSources } from '../../tools/boundaries/source-tree.mjs';

const root = join(__dirname, '../..');
const sources = new Map(readSources(root).map(({ path, text }) => [path, text]));

/**
 * Returns all files and packages that an entry point reaches, including imports of types, because
 * the published declarations name them.
 */
function reachedFrom(entryPoint: string) {
  const files = new Set([fileOf(entryPoint)]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const specifier of specifiersIn(file)) {
      if (specifier.startsWith('.'))
        files.add(sourceOf(posix.join(posix.dirname(file), specifier)));
      else if (specifier.startsWith('@nest-event-bus/')) files.add(fileOf(specifier));
      else if (!isBuiltin(specifier)) packages.add(packageOf(specifier));
    }
  }
  return { files: [...files], packages: [...packages].sort() };
}

function specifiersIn(path: string): readonly string[] {
  const text = sources.get(path);
  if (text === undefined) throw new Error(`${path} is imported, but does not exist`);
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return moduleSpecifiers(file).map((specifier) => specifier.text);
}

function fileOf(entryPoint: string): string {
  const [, library = '', ...room] = entryPoint.split('/');
  return ['libs', library, 'src', ...room, 'index.ts'].join('/');
}

function sourceOf(path: string): string {
  return path.replace(/\.(c?)js$/, '.$1ts');
}

function packageOf(specifier: string): string {
  const [first = '', second = ''] = specifier.split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>;
}

/** Returns the packages that are always installed together with the library. */
function alwaysInstalled(library: string): readonly string[] {
  const path = join(root, 'libs', library, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies);
  return [
    ...Object.keys(dependencies),
    ...peers.filter((peer) => !peerDependenciesMeta[peer]?.optional),
  ];
}

describe('An import of the event bus', () => {
  it.each(['', '/presets', '/internals'].map((entry) => `@nest-event-bus/core${entry}`))(
    '%s reaches only packages that are installed with it',
    (entryPoint) => {
      const { packages } = reachedFrom(entryPoint);
      const installed = [...alwaysInstalled('core'), ...alwaysInstalled('broker')];
      expect(packages.filter((name) => !installed.includes(name))).toEqual([]);
    },
  );

  // Under Nest 12, the CommonJS code of these packages breaks Jest with native ES modules. A second
  // registration of them breaks applications.
  it.each(['@nestjs/terminus', '@nestjs/schedule', '@willsoto/nestjs-prometheus', 'prom-client'])(
    'does not load %s, nor require it in package.json',
    (name) => {
      for (const entryPoint of ['@nest-event-bus/core', '@nest-event-bus/core/presets']) {
        expect(reachedFrom(entryPoint).packages).not.toContain(name);
      }
      expect(alwaysInstalled('core')).not.toContain(name);
    },
  );

  it('is followed through all files by this spec, which finds Nest, and each optional package from its entry', () => {
    const { files, packages } = reachedFrom('@nest-event-bus/core');
    expect(packages).toEqual(expect.arrayContaining(['@nestjs/common', '@nestjs/core', 'kafkajs']));
    expect(files).toEqual(
      expect.arrayContaining([
        'libs/core/src/nest/event-bus-bootstrap.ts',
        'libs/broker/src/kafkajs/index.ts',
      ]),
    );
    expect(reachedFrom('@nest-event-bus/core/terminus').packages).toContain('@nestjs/terminus');
    expect(reachedFrom('@nest-event-bus/core/opentelemetry').packages).toContain(
      '@opentelemetry/api',
    );
    expect(reachedFrom('@nest-event-bus/core/prometheus').packages).toContain('prom-client');
    expect(reachedFrom('@nest-event-bus/core/schedule').packages).toContain('@nestjs/schedule');
  });
});
