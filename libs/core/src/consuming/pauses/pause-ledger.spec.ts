import fc from 'fast-check';
import { PauseLedger } from './pause-ledger.js';
import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

describe('PauseLedger', () => {
  it('applies reasons of the session to every partition, and those of a partition only to itself', () => {
    const ledger = new PauseLedger();
    ledger.add('backoff', 't-0');
    expect([ledger.stopsHandout('t-0'), ledger.stopsHandout('t-1')]).toEqual([true, false]);
    ledger.add('operator');
    expect(ledger.stopsHandout('t-1')).toBe(true);
  });

  it('does not stop the hand-out for backpressure', () => {
    const ledger = new PauseLedger();
    ledger.add('backpressure', 't-0');
    expect(ledger.stopsHandout('t-0')).toBe(false);
    ledger.add('delay', 't-0');
    expect(ledger.stopsHandout('t-0')).toBe(true);
  });

  it('removes the reasons of a partition with its assignment, and keeps those of the session', () => {
    const ledger = new PauseLedger();
    ledger.add('operator');
    ledger.add('backoff', 't-0');
    ledger.forget('t-0');
    expect([ledger.reasons('t-0'), ledger.reasons()]).toEqual([[], ['operator']]);
  });

  it('never removes a reason together with another one', () => {
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
