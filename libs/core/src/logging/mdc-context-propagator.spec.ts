import { logContext, MdcContextPropagator } from './mdc-context-propagator.js';
import type { LogFields, RecordLogContext } from './record-log-context.js';

const contextOf = (offset: number): RecordLogContext => ({
  fields: { topic: 'orders', offset },
  prefix: `[orders|${offset}]`,
  isNamedBy: (fields) => fields['offset'] === offset,
});

const reader = logContext.reader();

describe('MdcContextPropagator', () => {
  it('keeps the contexts of calls apart that run at the same time', async () => {
    const seen: string[] = [];
    const call = async (offset: number): Promise<void> => {
      for (let turn = 0; turn < 3; turn++) {
        await Promise.resolve();
        seen.push(`${offset}${reader.prefix()}`);
      }
    };
    await Promise.all([1, 2].map((offset) => logContext.run(contextOf(offset), call, offset)));
    expect([...new Set(seen)].sort()).toEqual(['1[orders|1]', '2[orders|2]']);
    expect([reader.prefix(), reader.fields()]).toEqual(['', {}]);
  });

  it('is one for the process, also if the package is loaded twice', () => {
    logContext.run(contextOf(1), () => {
      expect(new MdcContextPropagator().reader().prefix()).toBe('[orders|1]');
    });
  });

  it('creates no context before a logger reads it', () => {
    const shared = globalThis as unknown as Record<symbol, unknown>;
    const key = Symbol.for('@nest-event-bus/core.log-context');
    const state = shared[key];
    delete shared[key];
    const fresh = new MdcContextPropagator();
    const before = fresh.isRead;
    fresh.reader();
    shared[key] = state;
    expect([before, fresh.isRead]).toEqual([false, true]);
  });

  it('adds the fields of a line of the bus, and the context only if the line names its record', () => {
    const line = (fields: LogFields) => ({ text: 'told {}', message: 'told', fields });
    const seen: unknown[] = [];
    const write = (): void => void seen.push([reader.prefix(), reader.fields()]);
    logContext.run(contextOf(1), () => {
      logContext.writeLine(line({ offset: 1, a: 'x' }), write);
      logContext.writeLine(line({ offset: 2 }), write);
      logContext.writeLine(line({ broker: 'b1' }), write);
      write();
    });
    expect(seen).toEqual([
      ['[orders|1]', { topic: 'orders', offset: 1, a: 'x' }],
      ['', { offset: 2 }],
      ['', { broker: 'b1' }],
      ['[orders|1]', { topic: 'orders', offset: 1 }],
    ]);
  });

  it('forgets a line whose logger throws', () => {
    const line = { text: 'told', message: 'told', fields: { a: 1 } };
    const write = (): never => {
      throw new Error('the disk is full');
    };
    expect(() => logContext.writeLine(line, write)).toThrow('the disk is full');
    expect([reader.fields(), reader.lineOf('told')]).toEqual([{}, undefined]);
  });

  it('never throws at a log line, even if the context cannot be read', () => {
    const fail = (): never => {
      throw new Error('no headers');
    };
    const broken = {
      get fields(): LogFields {
        return fail();
      },
      get prefix(): string {
        return fail();
      },
      isNamedBy: fail,
    };
    expect(logContext.run(broken, () => [reader.prefix(), reader.fields()])).toEqual(['', {}]);
  });

  it('leaves the context for work that does not belong to the record', async () => {
    const seen: string[] = [];
    const note = (): void => void seen.push(reader.prefix());
    await logContext.run(contextOf(1), async () => {
      logContext.runOutside(() => void Promise.resolve().then(note));
      await Promise.resolve();
      note();
    });
    logContext.runOutside(note);
    expect(seen).toEqual(['', '[orders|1]', '']);
  });
});
