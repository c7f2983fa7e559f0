import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as broker from '@nest-event-bus/broker';
import * as core from '@nest-event-bus/core';
import * as messaging from '@nest-event-bus/messaging';
import * as outbox from '@nest-event-bus/outbox';
import * as outboxNest from '@nest-event-bus/outbox-nest';
import * as outboxSql from '@nest-event-bus/outbox-sql';
import * as testing from '@nest-event-bus/testing';
import ts from 'typescript';
import { pageAt } from './docs-pages.js';

const libraries = join(__dirname, '../../libs');

/** Properties of the errors of a class, defined by the class or by its base class. */
interface ErrorFacts {
  readonly code?: string;
  readonly retriable?: 'yes' | 'no' | 'depends';
}

interface DeclaredError extends ErrorFacts {
  readonly base: string | undefined;
  readonly isAbstract: boolean;
}

function declaredErrors(): ReadonlyMap<string, DeclaredError> {
  const files = readdirSync(libraries, { recursive: true, encoding: 'utf8' })
    .map((file) => join(libraries, file))
    .filter((file) => /\/src\/.*\.ts$/.test(file) && !file.includes('.spec'))
    .filter((file) => !file.includes('node_modules'));
  const errors = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    if (!/class \w+(Error|Exception)\b/.test(text)) return [];
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    return source.statements.filter(ts.isClassDeclaration).map(readClass);
  });
  return new Map(errors);
}

function readClass(node: ts.ClassDeclaration): readonly [string, DeclaredError] {
  const code = initializerOf(node, 'code')?.replaceAll("'", '');
  const retriable = retriableOf(node);
  return [
    node.name?.text ?? '',
    {
      base: node.heritageClauses?.[0]?.types[0]?.expression.getText(),
      isAbstract: (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.AbstractKeyword),
      ...(code === undefined ? {} : { code }),
      ...(retriable === undefined ? {} : { retriable }),
    },
  ];
}

/** If the constructor sets the value, it depends on the failure. */
function retriableOf(node: ts.ClassDeclaration): ErrorFacts['retriable'] {
  const value = initializerOf(node, 'retriable');
  if (value !== undefined) return value === 'true' ? 'yes' : 'no';
  return /^ *(readonly retriable: boolean|.*readonly retriable: boolean,)/m.test(node.getText()) &&
    !/abstract readonly retriable/.test(node.getText())
    ? 'depends'
    : undefined;
}

function initializerOf(node: ts.ClassDeclaration, name: string): string | undefined {
  const property = node.members
    .filter(ts.isPropertyDeclaration)
    .find((member) => member.name.getText() === name);
  return property?.initializer?.getText();
}

const declared = declaredErrors();

function factsOf(name: string): ErrorFacts {
  const found = declared.get(name);
  if (!found) return {};
  const { base, code, retriable } = found;
  const inherited = base === undefined ? {} : factsOf(base);
  return { ...inherited, ...(code ? { code } : {}), ...(retriable ? { retriable } : {}) };
}

const isErrorClass = (value: unknown): boolean =>
  typeof value === 'function' && value.prototype instanceof Error;
const exportedFrom = (library: object): readonly string[] =>
  Object.entries(library)
    .filter(([, value]) => isErrorClass(value))
    .map(([name]) => name);

const page = pageAt('docs/reference/errors.md').text;
const rows = [...page.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = '', rest = '']) => ({
  name,
  cells: rest.split(' | ').map((cell) => cell.trim()),
}));

describe('The error reference', () => {
  const withCode = [
    ...new Set(
      [core, broker, messaging, outbox, outboxSql, outboxNest].flatMap((library) => [
        ...exportedFrom(library),
      ]),
    ),
  ];
  const withoutCode = exportedFrom(testing);

  it('lists every exported error class, and no other', () => {
    const concrete = withCode.filter((name) => !declared.get(name)?.isAbstract);
    expect(rows.map(({ name }) => name).sort()).toEqual([...concrete, ...withoutCode].sort());
  });

  it('names the abstract base classes', () => {
    const bases = withCode.filter((name) => declared.get(name)?.isAbstract);
    expect(bases.length).toBeGreaterThan(2);
    expect(bases.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it.each(rows.filter(({ cells }) => cells.length === 4))(
    'states the code and `retriable` of $name as the class has them',
    ({ name, cells: [code, retriable] }) => {
      expect({ code, retriable }).toEqual({
        code: `\`${factsOf(name).code}\``,
        retriable: factsOf(name).retriable,
      });
    },
  );

  it.each(rows)('states cause and remedy of $name', ({ name, cells }) => {
    expect(cells).toHaveLength(withoutCode.includes(name) ? 2 : 4);
    expect(cells.slice(-2).every((cell) => cell.length > 3)).toBe(true);
  });
});
