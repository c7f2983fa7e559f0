import { join } from 'node:path';
import { findAmbientTime } from '../../tools/boundaries/ambient-time.mjs';
import { readSources } from '../../tools/boundaries/source-tree.mjs';

const offencesOf = (text: string, path = 'libs/broker/src/memory/a.ts') =>
  findAmbientTime([{ path, text }]);

describe('Time, timers and random numbers', () => {
  it.each([
    'const t = Date.now();',
    "const t = Date['now']();",
    'const t = globalThis.Date.now();',
    'const { now } = Date;',
    'const { now: clock } = Date;',
    'const t = new Date();',
    'const t = new Date;',
    'const t = Date();',
    'const t = performance.now();',
    'const t = globalThis.performance.now();',
    'setTimeout(run, 5);',
    'globalThis.setTimeout(run, 5);',
    "globalThis['setTimeout'](run, 5);",
    'const { setTimeout: later } = globalThis;',
    'const timers = { setTimeout };',
    'const timers = { later: setTimeout };',
    'function a({ later = setTimeout }) {}',
    'class A { later = setInterval; }',
    'setInterval(run, 5);',
    'setImmediate(run);',
    "import { setTimeout } from 'node:timers/promises'; await setTimeout(5);",
    "import timers from 'timers';",
    "const timers = require('node:timers');",
    "import { performance } from 'node:perf_hooks';",
    'const signal = AbortSignal.timeout(5);',
    'const x = Math.random();',
    'const { random } = Math;',
    'const id = crypto.randomUUID();',
    "import { randomUUID } from 'node:crypto';",
    "import { randomBytes as chance } from 'crypto';",
    "import crypto from 'node:crypto'; crypto.randomInt(5);",
    "import * as c from 'node:crypto'; c.randomFillSync(bytes);",
    'crypto.getRandomValues(bytes);',
    'const t = process.hrtime.bigint();',
  ])('are refused if they bypass the Runtime: %s', (text) => {
    expect(offencesOf(text)).toHaveLength(1);
  });

  it.each([
    'const t = runtime.now();',
    'const t = new Date(runtime.now());',
    'const t = Date.parse(text);',
    'const t = Date.UTC(2026, 0);',
    'const x = Math.max(1, 2);',
    "import { createHash } from 'node:crypto'; createHash('md5');",
    'socket.setTimeout(5);',
    'runtime.setTimer(run, 5);',
    'clearTimeout(timer);',
    'type Timer = ReturnType<typeof setTimeout>;',
    'interface Clock { setTimeout(run: () => void): void; performance: number }',
    'class Clock { setTimeout() {} }',
    'const clock = { setTimeout: run, performance: 1 };',
    'function measure(performance: Meter) { return performance.read(); }',
    "const text = 'setTimeout(run, 5)'; // Date.now()",
  ])('are accepted: %s', (text) => {
    expect(offencesOf(text)).toEqual([]);
  });

  it('are reported with file and line', () => {
    expect(offencesOf('const a = 1;\nconst t = Date.now();')).toMatchObject([
      { path: 'libs/broker/src/memory/a.ts', line: 2 },
    ]);
  });

  it.each([
    'libs/broker/src/runtime/real-runtime.ts',
    'libs/broker/src/runtime/virtual-runtime.ts',
    'libs/broker/src/memory/a.spec.ts',
    'libs/broker/src/memory/a.spec-support.ts',
  ])('may be used directly in %s', (path) => {
    expect(offencesOf('setTimeout(run, 5);', path)).toEqual([]);
  });

  it.each(['libs/broker/src/runtime/waiting.ts', 'libs/testing/src/kafka-server.ts'])(
    'may not be used directly in %s',
    (path) => {
      expect(offencesOf('setTimeout(run, 5);', path)).toHaveLength(1);
    },
  );
});

it('The libraries use time and random numbers through the Runtime only', () => {
  const sources = readSources(join(__dirname, '../..'));
  expect(sources.length).toBeGreaterThan(10);
  expect(findAmbientTime(sources)).toEqual([]);
});
