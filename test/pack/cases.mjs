// Cases for the packed packages: one temporary app per entry, installed once for all its cases.
import { createRequire } from 'node:module';

/** The compiler of the repository (TypeScript 6), so that an app may have another one or none. */
const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js');
const nestCli = createRequire(import.meta.url).resolve('@nestjs/cli/bin/nest.js');
const jest = 'node_modules/jest/bin/jest.js';

/**
 * @typedef {object} Case
 * @property {string} promise
 * @property {string[]} node  arguments of the node process that checks it
 *
 * @typedef {object} Share
 * @property {string} from  file or folder of the repository
 * @property {string} to  path in the app
 *
 * @typedef {object} App
 * @property {string} name
 * @property {string} folder  under test/pack/apps
 * @property {Record<string, string>} [pins]  package versions, instead of the newest permitted ones
 * @property {Share[]} receives  files that it shares with other apps
 * @property {Case[]} cases
 */

const loading = { from: 'test/pack/shared/loading', to: '.' };
const declarations = { from: 'test/pack/shared/declarations', to: 'declarations' };
const specs = [
  { from: 'test/pack/shared/specs', to: 'src' },
  { from: 'test/unit/shutdown-order.spec.ts', to: 'src/shutdown-order.spec.ts' },
  { from: 'test/unit/global-enhancers.spec.ts', to: 'src/global-enhancers.spec.ts' },
];

const loads = [
  {
    promise: 'import loads every entry point, and a record is sent and received',
    node: ['import.mjs'],
  },
  {
    promise: 'require loads every entry point, and a record is sent and received',
    node: ['require.cjs'],
  },
  { promise: 'import and require return the same classes', node: ['one-class.mjs'] },
  { promise: 'the program eventbus is installed', node: ['node_modules/.bin/eventbus', '--help'] },
];

/** @param {readonly string[]} resolutions */
const compiles = (resolutions) =>
  resolutions.map((resolution) => ({
    promise: `the declarations compile with ${resolution}, libraries checked`,
    node: [compiler, '-p', `declarations/tsconfig.${resolution}.json`],
  }));

const commonJsJest = { promise: "Nest 11's default Jest (CommonJS, ts-jest)", node: [jest] };
const nativeJest = {
  promise: 'Nest 12 with Jest on native ES modules',
  node: ['--experimental-vm-modules', '--no-warnings', jest],
};

/**
 * Lowest versions of core's peer ranges. Version 12.0.0 itself cannot be installed, because it requires Nest 11.
 * @param {{ nest: string, terminus: string, classValidator: string }} versions
 */
const lowest = ({ nest, terminus, classValidator }) => ({
  '@nestjs/common': nest,
  '@nestjs/core': nest,
  '@nestjs/platform-express': nest,
  '@nestjs/testing': nest,
  '@nestjs/terminus': terminus,
  'class-validator': classValidator,
  'class-transformer': '0.5.1',
  'reflect-metadata': '0.2.0',
  rxjs: '7.8.0',
});

/** @type {App[]} */
export const apps = [
  {
    name: 'plain',
    folder: 'plain',
    receives: [loading, declarations],
    // Tests node16 resolution from CommonJS only with Nest 11: Nest 12 is ES modules only, and its own
    // declarations fail there.
    cases: [...loads, ...compiles(['node10', 'node16', 'bundler'])],
  },
  {
    name: 'without-terminus',
    folder: 'without-terminus',
    receives: [loading],
    cases: [
      {
        promise:
          'every entry point loads except those whose package is missing, and their errors name it',
        node: ['check.mjs'],
      },
    ],
  },
  {
    name: 'nest11',
    folder: 'nest11',
    receives: specs,
    cases: [
      commonJsJest,
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
    name: 'nest12',
    folder: 'nest12',
    receives: [loading, declarations, ...specs],
    cases: [
      ...loads,
      ...compiles(['node10', 'nodenext', 'bundler']),
      { promise: 'Nest 12 with Vitest', node: ['node_modules/vitest/vitest.mjs', 'run'] },
      nativeJest,
      {
        promise: 'Nest 12 compiles with nodenext',
        node: [compiler, '-p', 'tsconfig.json', '--noEmit'],
      },
      { promise: 'Nest 12 compiles with bundler', node: [compiler, '-p', 'tsconfig.bundler.json'] },
      {
        promise: 'Nest 12 is built by nest build',
        node: [nestCli, 'build', '-p', 'tsconfig.json'],
      },
    ],
  },
  {
    name: 'nest11-lowest',
    folder: 'nest11',
    pins: lowest({ nest: '11.1.0', terminus: '11.0.0', classValidator: '0.14.0' }),
    receives: specs,
    cases: [commonJsJest],
  },
  {
    name: 'nest12-lowest',
    folder: 'nest12',
    pins: lowest({ nest: '12.0.1', terminus: '12.0.0', classValidator: '0.15.1' }),
    receives: specs,
    cases: [nativeJest],
  },
];
