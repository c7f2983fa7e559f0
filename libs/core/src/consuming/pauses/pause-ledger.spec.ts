import fc from 'fast-check';
import { PauseLedger } from './pause-ledger.js';
import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

describe('the reasons to wait', () => {
  it('of a session hold every partition, those of a partition only itself', () => {
    const ledger = new PauseLedger();
    ledger.add('backoff', 't-0');
    expect([ledger.stopsHandout('t-0'), ledger.stopsHandout('t-1')]).toEqual([true, false]);
    ledger.add('operator');
    expect(ledger.stopsHandout('t-1')).toBe(true);
  });

  it('do not include backpressure, which only asks for no more', () => {
    const ledger = new PauseLedger();
    ledger.add('backpressure', 't-0');
    expect(ledger.stopsHandout('t-0')).toBe(false);
    ledger.add('delay', 't-0');
    expect(ledger.stopsHandout('t-0')).toBe(true);
  });

  it('of a partition end with its assignment, those of the session do not', () => {
    const ledger = new PauseLedger();
    ledger.add('operator');
    ledger.add('backoff', 't-0');
    ledger.forget('t-0');
    expect([ledger.reasons('t-0'), ledger.reasons()]).toEqual([[], ['operator']]);
  });

  it('are sets: taking one away never takes another, here or elsewhere', () => {
    const place = fc.constantFrom<string | undefined>(undefined, 't-0', 't-1');
    const reason = fc.constantFrom<PauseReason>(...PAUSE_REASONS);
    const steps = fc.array(fc.record({ adds: fc.boolean(), place, reason }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const ledger = new PauseLedger();
        const model = new Set<string>();
        for (const each of all) {
          const key = `${each.place ?? ''}/${each.reason}`;
          const changed = each.adds
            ? ledger.add(each.reason, each.place)
            : ledger.remove(each.reason, each.place);
          expect(changed).toBe(each.adds !== model.has(key));
          if (each.adds) model.add(key);
          else model.delete(key);
          for (const at of [undefined, 't-0', 't-1'])
            expect(ledger.reasons(at)).toEqual(
              PAUSE_REASONS.filter((one) => model.has(`${at ?? ''}/${one}`)),
            );
        }
      }),
    );
  });
});
