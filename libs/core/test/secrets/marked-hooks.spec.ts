import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventBusProperties } from '../../src/config/properties/event-bus-properties.js';
import type {
  PropertiesClass,
  PropertyShape,
} from '../../src/config/properties/property-decorators.js';
import { propertiesOf } from '../../src/config/properties/property-tree.js';
import { MARKED_HOOKS } from './marked-hooks.spec-support.js';
import {
  MARK,
  markedErrors,
  MarkedTestBus,
  throwMarked,
  type Evidence,
} from './marked-test-bus.spec-support.js';

let testBus: MarkedTestBus;

beforeEach(async () => {
  testBus = await MarkedTestBus.create();
});

/** Options with which no part of an error may be written. */
const SILENT = {
  "exceptionDetail 'class'": { exceptionDetail: 'class' },
  'redact that throws': { redact: throwMarked },
};

/** Headers that have the message or the stack of an exception. */
const TEXT_HEADERS = /message|stack|reason/;

const marked = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => text.split('\n')).filter((line) => line.includes(MARK));

const headerLines = (headers: Evidence['headers']): readonly string[] =>
  headers.map(([key, value]) => `${key}: ${value}`);

describe.each(Object.entries(SILENT))('With %s, no payload and no secret is shown', (_, dlt) => {
  it.each(Object.entries(MARKED_HOOKS))('by %s', async (_name, hook) => {
    const { headers, ...texts } = await testBus.evidenceOf(hook, dlt);
    expect(marked([...Object.values(texts), ...headerLines(headers)])).toEqual([]);
  });
});

describe('By default, only the message and the stack of an exception show what it quotes', () => {
  it.each(Object.entries(MARKED_HOOKS))('of %s', async (_name, hook) => {
    const before = markedErrors();
    const { headers, log, exceptionTexts: _, ...texts } = await testBus.evidenceOf(hook, {});
    const others = headers.filter(([key]) => !TEXT_HEADERS.test(key));
    expect(marked([...Object.values(texts), ...headerLines(others)])).toEqual([]);
    // A text of a record or of an error never begins a line of the log.
    expect(log).not.toMatch(/^\[Nest\] 1 ERROR/m);
    // A hook that is never called proves nothing.
    if (hook.isCalled !== false) expect(markedErrors()).toBeGreaterThan(before);
  });
});

/** Paths of the options whose values are code of the application, or secrets. */
function hooksIn(type: PropertiesClass): readonly string[] {
  const isHook = ({ kind, secret }: PropertyShape): boolean =>
    kind === 'reference' || kind === 'matcher' || kind === 'matchers' || secret === true;
  return [...propertiesOf(type)].flatMap(([key, shape]) => {
    if (!shape.type) return isHook(shape) ? [key] : [];
    const suffix = { map: '.*', 'nested-list': '[]' }[shape.kind as string] ?? '';
    return hooksIn(shape.type()).map((path) => `${key}${suffix}.${path}`);
  });
}

const sources = (folder: string): readonly string[] =>
  readdirSync(join(__dirname, '../../src', folder))
    .filter((file) => file.endsWith('.ts') && !file.includes('.spec'))
    .map((file) => readFileSync(join(__dirname, '../../src', folder, file), 'utf8'));

const namesIn = (folder: string, pattern: RegExp): readonly string[] =>
  sources(folder).flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!));

/** Options without a marked hook, and why. */
const NOT_MARKED: Readonly<Record<string, string>> = {
  runtime: 'The clock and the timers get no payload and no secret.',
};

describe('The marked hooks contain', () => {
  const text = Object.keys(MARKED_HOOKS).join('\n');
  const missing = (names: readonly string[]): readonly string[] =>
    names.filter((name) => !text.includes(name));

  it('every option that takes code of the application or a secret', () => {
    const options = hooksIn(EventBusProperties).filter(
      (path) => !path.startsWith('defaults.') && !(path in NOT_MARKED),
    );
    expect(missing(options)).toEqual([]);
  });

  it('every interface that applications implement', () => {
    const interfaces = namesIn(
      'model/extension-points',
      /^export interface (\w+)[^{]*\{[^}]*?^ {2}(?!toJSON)\w+\(/gm,
    );
    expect(missing(interfaces)).toEqual([]);
  });

  it('every decorator of methods and classes', () => {
    const decorators = namesIn(
      'discovery/decorators',
      /^export (?:function|const) ([A-Z][a-z]\w+)/gm,
    );
    expect(missing(decorators.map((name) => `@${name}`))).toEqual([]);
  });

  it('every provider that replaces a default', () => {
    const tokens = namesIn('discovery/decorators', /^export const ([A-Z_]+) = Symbol/gm);
    expect(missing(tokens)).toEqual([]);
  });
});
