import fc from 'fast-check';
import { PauseReasonSets } from './pause-reason-sets.js';
import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

describe('PauseReasonSets', () => {
  it('applies reasons of the session to every partition, and those of a partition only to itself', () => {
    const pauseReasons = new PauseReasonSets();
    pauseReasons.add('backoff', 't-0');
    expect([pauseReasons.stopsHandout('t-0'), pauseReasons.stopsHandout('t-1')]).toEqual([
      true,
      false,
    ]);
    pauseReasons.add('operator');
    expect(pauseReasons.stopsHandout('t-1')).toBe(true);
  });

  it('does not stop the hand-out of buffered records for backpressure', () => {
    const pauseReasons = new PauseReasonSets();
    pauseReasons.add('backpressure', 't-0');
    expect(pauseReasons.stopsHandout('t-0')).toBe(false);
    pauseReasons.add('delay', 't-0');
    expect(pauseReasons.stopsHandout('t-0')).toBe(true);
  });

  it('removes the reasons of a partition when its assignment ends, and keeps those of the session', () => {
    const pauseReasons = new PauseReasonSets();
    pauseReasons.add('operator');
    pauseReasons.add('backoff', 't-0');
    pauseReasons.forget('t-0');
    expect([pauseReasons.reasons('t-0'), pauseReasons.reasons()]).toEqual([[], ['operator']]);
  });

  it('removes only the reason that is named, after any sequence of additions and removals', () => {
    const place = fc.constantFrom<string | undefined>(undefined, 't-0', 't-1');
    const reason = fc.constantFrom<PauseReason>(...PAUSE_REASONS);
    const steps = fc.array(fc.record({ adds: fc.boolean(), place, reason }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const pauseReasons = new PauseReasonSets();
        const model = new Set<string>();
        for (const each of all) {
          const key = `${each.place ?? ''}/${each.reason}`;
          const changed = each.adds
            ? pauseReasons.add(each.reason, each.place)
            : pauseReasons.remove(each.reason, each.place);
          expect(changed).toBe(each.adds !== model.has(key));
          if (each.adds) model.add(key);
          else model.delete(key);
          for (const at of [undefined, 't-0', 't-1'])
            expect(pauseReasons.reasons(at)).toEqual(
              PAUSE_REASONS.filter((one) => model.has(`${at ?? ''}/${one}`)),
            );
        }
      }),
    );
  });
});
