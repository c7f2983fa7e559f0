// What the packed packages are tried in: one throw-away app per entry, installed once for all its cases.
import { createRequire } from 'node:module';

/** The repository's own compiler (TypeScript 6), so that an app may have another one or none. */
const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
const jest = 'node_modules/jest/bin/jest.js';

/**
 * @typedef {object} Case
 * @property {string} promise
 * @property {string[]} node  the arguments of the node process that shows it
 *
 * @typedef {object} App
 * @property {string} folder  under test/pack/apps
 * @property {string[]} receivesSpec  the folders that get shared/greeter.spec.ts
 * @property {Case[]} cases
 */

/** @type {App[]} */
export const apps = [
  {
    folder: 'plain',
    receivesSpec: [],
    cases: [
      { promise: 'import finds every entry point', node: ['import.mjs'] },
      { promise: 'require finds every entry point', node: ['require.cjs'] },
      { promise: 'import and require give the same classes', node: ['one-class.mjs'] },
      ...['node10', 'node16', 'bundler'].map((resolution) => ({
        promise: `the declarations compile with ${resolution}, libraries checked`,
        node: [compiler, '-p', `tsconfig.${resolution}.json`],
      })),
    ],
  },
  {
    folder: 'nest11',
    receivesSpec: ['src'],
    cases: [
      { promise: "Nest 11's default Jest (CommonJS, ts-jest)", node: [jest] },
      {
        promise: "Nest 11 compiles with its own TypeScript and the template's settings",
        node: ['node_modules/typescript/lib/tsc.js', '-p', 'tsconfig.json'],
      },
      ...['node10', 'node16'].map((resolution) => ({
        promise: `Nest 11 compiles with ${resolution} and TypeScript 6`,
        node: [compiler, '-p', `tsconfig.${resolution}.json`],
      })),
    ],
  },
  {
    folder: 'nest12',
    receivesSpec: ['src'],
    cases: [
      { promise: 'Nest 12 with Vitest', node: ['node_modules/vitest/vitest.mjs', 'run'] },
      {
        promise: 'Nest 12 with Jest on native ES modules',
        node: ['--experimental-vm-modules', '--no-warnings', jest],
      },
      {
        promise: 'Nest 12 compiles with nodenext',
        node: [compiler, '-p', 'tsconfig.json', '--noEmit'],
      },
      { promise: 'Nest 12 compiles with bundler', node: [compiler, '-p', 'tsconfig.bundler.json'] },
    ],
  },
];
