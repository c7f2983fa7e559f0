import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { OngoingProblems, type Problem } from './ongoing-problems.js';

const MINUTE = 60_000;

const problem = (more: Partial<Problem> = {}): Problem => ({
  key: 'guard',
  message: 'A guard refuses.',
  ended: 'No guard refuses any more.',
  ...more,
});

let runtime: VirtualRuntime;
let lines: string[];
let problems: OngoingProblems;

beforeEach(() => {
  runtime = new VirtualRuntime();
  lines = [];
  const add =
    (level: string) =>
    (message: string, context: object = {}): void =>
      void lines.push(`${level} ${message} ${JSON.stringify(context)}`);
  const logger = { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') };
  problems = new OngoingProblems(runtime, logger);
});

describe('OngoingProblems with a problem that is reported again and again', () => {
  it('logs it at once, then once a minute with the number of reports', async () => {
    for (let second = 0; second < 120; second++) {
      problems.report(problem({ context: { offset: second } }));
      await runtime.advance(1_000);
    }
    expect(lines).toEqual([
      'warn A guard refuses. {"offset":0}',
      'warn A guard refuses. {"offset":59,"forMs":60000,"times":59}',
      'warn A guard refuses. {"offset":119,"forMs":120000,"times":60}',
    ]);
  });

  it('logs its end after a minute without a report', async () => {
    problems.report(problem());
    await runtime.advance(MINUTE);
    expect(lines).toEqual([
      'warn A guard refuses. {}',
      'info No guard refuses any more. {"afterMs":60000}',
    ]);
    expect(problems.all).toEqual([]);
  });

  it('logs it at once when it begins again', async () => {
    problems.report(problem());
    await runtime.advance(MINUTE);
    problems.report(problem());
    expect(lines).toHaveLength(3);
  });

  it('logs nothing for an interval without a report that is shorter than quietMs', async () => {
    problems.report(problem({ quietMs: 3 * MINUTE }));
    await runtime.advance(2 * MINUTE);
    expect(lines).toHaveLength(1);
    await runtime.advance(MINUTE);
    expect(lines[1]).toMatch(/^info/);
  });

  it('logs each problem on its own, at its level', () => {
    problems.report(problem());
    problems.report(problem({ key: 'topic', message: 'A topic is missing.', level: 'error' }));
    expect(lines).toEqual(['warn A guard refuses. {}', 'error A topic is missing. {}']);
  });
});

describe('OngoingProblems with a problem that only end() ends', () => {
  const lasting = problem({ quietMs: Infinity });

  it('repeats it once a minute, until its end is logged once', async () => {
    problems.report(lasting);
    await runtime.advance(2 * MINUTE);
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'warn', 'warn']);
    problems.end('guard');
    problems.end('guard');
    await runtime.advance(5 * MINUTE);
    expect(lines.slice(3)).toEqual(['info No guard refuses any more. {"afterMs":120000}']);
  });

  it('logs nothing if it ends within its grace period', async () => {
    problems.report({ ...lasting, graceMs: 1_000, reason: 'refused' });
    await runtime.advance(999);
    expect(problems.all).toEqual([]);
    problems.end('guard');
    await runtime.advance(MINUTE);
    expect(lines).toEqual([]);
  });

  it('logs it after its grace period, with the latest report', async () => {
    problems.report({ ...lasting, graceMs: 1_000 });
    problems.report({ ...lasting, graceMs: 1_000, message: 'Another guard refuses.' });
    await runtime.advance(1_000);
    expect(lines).toEqual(['warn Another guard refuses. {}']);
  });
});

describe('OngoingProblems', () => {
  it('returns the reasons for health', () => {
    problems.report(problem());
    problems.report(problem({ key: 'topic', reason: 'topic is missing' }));
    expect(problems.all).toEqual([{ key: 'topic', reason: 'topic is missing' }]);
  });

  it('logs nothing more after clear()', async () => {
    problems.report(problem({ quietMs: Infinity }));
    problems.clear();
    await runtime.advance(5 * MINUTE);
    expect(lines).toHaveLength(1);
    expect(problems.all).toEqual([]);
  });
});
