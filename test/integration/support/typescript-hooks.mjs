import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from '@swc/core';

/**
 * Lets plain Node run the sources of the libraries without a build: `.js` names are resolved to `.ts` files,
 * `.cjs` names to `.cts` files, and workspace names to their sources. Jest has a mapper for the same, but its
 * global set-up and the child processes of suites do not use it.
 */
const libs = new URL('../../../libs/', import.meta.url);
const workspaceName = /^@nest-event-bus\/([^/]+)(?:\/(.+))?$/;

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, nextResolve) {
  const [, lib, room] = workspaceName.exec(specifier) ?? [];
  if (lib) {
    const source = new URL(`${lib}/src/${room ? `${room}/` : ''}index.ts`, libs);
    return { url: source.href, format: 'module', shortCircuit: true };
  }
  if (/^\..*\.c?js$/.test(specifier) && context.parentURL) {
    const source = new URL(specifier.replace(/js$/, 'ts'), context.parentURL);
    if (existsSync(source)) return { url: source.href, format: 'module', shortCircuit: true };
  }
  return nextResolve(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!/\.c?ts$/.test(url)) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const isCommonJs = url.endsWith('.cts');
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2022',
    },
    module: { type: isCommonJs ? 'commonjs' : 'es6' },
    sourceMaps: 'inline',
    sourceFileName: pathToFileURL(filename).href,
  });
  const source = isCommonJs ? asModule(code) : code;
  return { format: 'module', source, shortCircuit: true };
}

/**
 * Node 20 cannot load CommonJS from a hook when it requires JSON.
 *
 * @param {string} code
 */
function asModule(code) {
  return `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const module = { exports: {} };
${code}
export default module.exports;
`;
}
