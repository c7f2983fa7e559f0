import { join } from 'node:path';
import { findForbiddenImports } from '../../tools/boundaries/import-direction.mjs';
import { readDeclaredDependencies, readSources } from '../../tools/boundaries/source-tree.mjs';

const declared = { broker: ['kafkajs'], testing: ['@nest-event-bus/broker'], core: ['cockatiel'] };

const objectionsTo = (path: string, text: string): string[] =>
  findForbiddenImports([{ path, text }], declared).map(({ message }) => message);

describe('Imports between packages', () => {
  it.each([
    ['libs/testing/src/a.ts', "import { BrokerError } from '@nest-event-bus/broker';"],
    ['libs/testing/src/a.spec.ts', "import { memory } from '@nest-event-bus/broker/memory';"],
    ['libs/core/src/module/a.ts', "export * from '@nest-event-bus/broker/runtime';"],
  ])('are accepted in the declared direction: %s: %s', (path, text) => {
    expect(objectionsTo(path, text)).toEqual([]);
  });

  it.each([
    ['libs/broker/src/port/a.ts', "import { x } from '@nest-event-bus/core';"],
    ['libs/broker/src/port/a.spec.ts', "import { x } from '@nest-event-bus/testing';"],
    ['libs/broker/src/port/a.ts', "import type { x } from '@nest-event-bus/core';"],
    ['libs/broker/src/port/a.ts', "export { x } from '@nest-event-bus/core/terminus';"],
    ['libs/broker/src/port/a.ts', "const x = await import('@nest-event-bus/core');"],
    ['libs/broker/src/port/a.ts', "const x = require('@nest-event-bus/core');"],
    ['libs/broker/src/port/a.ts', "const x = require.resolve('@nest-event-bus/core');"],
    ['libs/broker/src/port/a.ts', "import x = require('@nest-event-bus/core');"],
    ['libs/broker/src/port/a.ts', "type X = import('@nest-event-bus/core').X;"],
    ['libs/core/src/a.ts', "import { x } from '@nest-event-bus/testing';"],
    ['libs/newcomer/src/a.ts', "import { x } from '@nest-event-bus/core';"],
    ['libs/testing/src/a.ts', "import { x } from '../../broker/src/port/errors.js';"],
  ])('are refused in a direction that is not declared: %s: %s', (path, text) => {
    expect(objectionsTo(path, text)).toHaveLength(1);
  });

  it('are reported with file, line and the permitted packages', () => {
    const text = "import fs from 'node:fs';\nimport { x } from '@nest-event-bus/dashboard';\n";
    expect(findForbiddenImports([{ path: 'libs/core/src/a.ts', text }], declared)).toEqual([
      {
        path: 'libs/core/src/a.ts',
        line: 2,
        message: "imports '@nest-event-bus/dashboard': core may import broker of ours",
      },
    ]);
  });
});

describe('Imports between the layers of the broker package', () => {
  it.each([
    ['libs/broker/src/memory/a.ts', "import { x } from '../records/b.js';"],
    ['libs/broker/src/client/fetching/a.ts', "import { x } from '../../wire/b.js';"],
    ['libs/broker/src/contract/a.ts', "import { BrokerError } from '../port/errors.js';"],
    ['libs/broker/src/contract/a.ts', "import assert from 'node:assert/strict';"],
    ['libs/broker/src/memory/a.spec.ts', "import { contract } from '../contract/index.js';"],
    ['libs/broker/src/index.ts', "export { BrokerError } from './port/errors.js';"],
  ])('are accepted in the declared direction: %s: %s', (path, text) => {
    expect(objectionsTo(path, text)).toEqual([]);
  });

  it.each([
    ['libs/broker/src/runtime/a.ts', "import type { x } from '../port/record.js';"],
    ['libs/broker/src/port/a.ts', "import { x } from '../records/b.js';"],
    ['libs/broker/src/records/a.ts', "import { x } from '../wire/b.js';"],
    ['libs/broker/src/memory/a.ts', "import { x } from '../kafkajs/index.js';"],
    ['libs/broker/src/kafkajs/a.ts', "import { x } from '../memory/index.js';"],
    ['libs/broker/src/contract/a.ts', "import { memory } from '../memory/index.js';"],
    ['libs/broker/src/contract/a.ts', "import { readFile } from 'node:fs/promises';"],
    ['libs/broker/src/port/a.ts', "import { x } from '../index.js';"],
    ['libs/broker/src/index.ts', "export { memory } from './memory/index.js';"],
    ['libs/broker/src/newcomer/a.ts', "import { x } from '../port/record.js';"],
  ])('are refused in a direction that is not declared: %s: %s', (path, text) => {
    expect(objectionsTo(path, text)).toHaveLength(1);
  });
});

describe('Imports of external packages', () => {
  it('are refused if package.json does not name the package', () => {
    expect(
      objectionsTo('libs/broker/src/port/a.ts', "import { x } from '@nestjs/common';"),
    ).toEqual([
      "imports '@nestjs/common': libs/broker/package.json does not depend on @nestjs/common",
    ]);
  });

  it('may use the development dependencies of the repository in specs', () => {
    expect(objectionsTo('libs/broker/src/port/a.spec.ts', "import fc from 'fast-check';")).toEqual(
      [],
    );
  });

  it('may use kafkajs only in the wire folder', () => {
    const text = "import Connection from 'kafkajs/src/network/connection.js';";
    expect(objectionsTo('libs/broker/src/wire/a.ts', text)).toEqual([]);
    expect(objectionsTo('libs/broker/src/client/a.ts', text)).toHaveLength(1);
  });
});

it('The libraries keep the import rules', () => {
  const root = join(__dirname, '../..');
  const sources = readSources(root);
  expect(sources.length).toBeGreaterThan(10);
  expect(findForbiddenImports(sources, readDeclaredDependencies(root))).toEqual([]);
});
