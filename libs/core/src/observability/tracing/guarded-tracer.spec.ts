import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusTracer } from '../../model/extension-points/event-bus-tracer.js';
import { GuardedTracer } from './guarded-tracer.js';

const of = {
  binding: 'orders',
  cluster: 'default',
  topic: 'orders',
  groupId: 'shop',
  tier: 0,
  clientId: 'eventbus-orders',
};
const fail = (): never => {
  throw new Error('the exporter is gone');
};
const failing: EventBusTracer = { process: fail, send: fail, polled: fail, settled: fail };

describe('A tracer of the application that is guarded', () => {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const logger = { debug: log, info: log, warn: log, error: log };
  let guarded: GuardedTracer;
  const guard = (tracer: Partial<EventBusTracer>): GuardedTracer =>
    (guarded = new GuardedTracer({ ...failing, ...tracer }, new VirtualRuntime(), logger));

  beforeEach(() => void lines.splice(0));
  afterEach(() => guarded.close());

  it('may throw in each of its methods, which is logged once', () => {
    guard(failing);
    for (let times = 0; times < 2; times++) {
      expect(guarded.process(of, [])).toBeUndefined();
      expect(guarded.send('orders', [])).toBeUndefined();
      guarded.polled(of, [], 0);
      guarded.settled(of, [], 0);
    }
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^The tracer EVENT_BUS_TRACER failed in 'process': /);
  });

  it('may throw at the end of a span', () => {
    guard({
      process: () => ({ run: (work) => work(), end: fail }),
      send: (_, records) => ({ records, end: fail }),
    });
    guarded.process(of, [])?.end([]);
    guarded.send('orders', [])?.end();
    expect(lines).toHaveLength(1);
  });

  it.each<[string, EventBusTracer['process'], problems: number]>([
    ['throws before the work', () => ({ run: fail, end: () => undefined }), 1],
    [
      'throws after the work',
      () => ({
        run: (work) => {
          work();
          return fail();
        },
        end: () => undefined,
      }),
      1,
    ],
    ['forgets the work', () => ({ run: () => undefined as never, end: () => undefined }), 0],
    [
      'does the work twice',
      () => ({
        run: (work) => {
          work();
          return work();
        },
        end: () => undefined,
      }),
      0,
    ],
    [
      'changes the result',
      () => ({
        run: <T>(work: () => T) => {
          work();
          return 'another' as T;
        },
        end: () => undefined,
      }),
      0,
    ],
  ])('%s, and the work is done once with its own result', (_, process, problems) => {
    guard({ process });
    let calls = 0;
    const result = guarded.process(of, [])?.run(() => {
      calls++;
      return 'done';
    });
    expect([result, calls, lines.length]).toEqual(['done', 1, problems]);
  });

  it('passes an error of the work on', () => {
    guard({ process: () => ({ run: (work) => work(), end: () => undefined }) });
    const run = (): unknown =>
      guarded.process(of, [])?.run(() => {
        throw new Error('out of stock');
      });
    expect(run).toThrow('out of stock');
    expect(lines).toEqual([]);
  });
});
