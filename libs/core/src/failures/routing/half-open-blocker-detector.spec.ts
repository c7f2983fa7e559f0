import type {
  CircuitFigures,
  CircuitState,
  CircuitTransition,
} from '../../model/states/circuit-breaker.js';
import type { BlockingRecord } from '../../model/states/half-open-blocker.js';
import { HalfOpenBlockerDetector } from './half-open-blocker-detector.js';

let logged: string[];
let become: (to: CircuitState, calls?: number) => void;
let detector: HalfOpenBlockerDetector;

const placeOf = (offset: number): BlockingRecord => ({ topic: 'orders', partition: 1, offset });
const [gone, other] = [placeOf(7), placeOf(8)];

beforeEach(() => {
  logged = [];
  const quiet = (): void => undefined;
  const error = (line: string): void => void logged.push(line);
  const onTransition = (listener: (transition: CircuitTransition) => void) => {
    become = (to, calls = 0) => {
      const figures: CircuitFigures = { calls, failures: calls, slow: 0 };
      listener({ from: 'CLOSED', to, cause: 'failure-rate', figures, at: 0 });
    };
    return quiet;
  };
  const logger = { debug: quiet, info: quiet, warn: quiet, error };
  detector = new HalfOpenBlockerDetector('orders', { onTransition }, logger);
  become('OPEN', 5);
});

/**
 * Runs a half-open period in which these records fail. `calls` also counts calls that succeeded.
 */
function cycle(failed: readonly BlockingRecord[], calls = failed.length): void {
  become('HALF_OPEN');
  for (const record of failed.slice(0, -1)) detector.onRecordKept(record);
  become('OPEN', calls);
  // The circuit gets the result of a call before the router gets its record.
  for (const record of failed.slice(-1)) detector.onRecordKept(record);
}

const times = (count: number, work: () => void): void => {
  for (let left = count; left > 0; left--) work();
};

describe('HalfOpenBlockerDetector', () => {
  it('logs a record that used all trial calls three times in a row, and what to do', () => {
    times(2, () => cycle([gone, gone, gone]));
    expect([detector.record, logged]).toEqual([undefined, []]);
    cycle([gone, gone, gone]);
    expect(detector.record).toEqual(gone);
    times(4, () => cycle([gone]));
    expect(detector.record).toEqual(gone);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain(
      "Record orders-1@7 alone had all trial calls of the circuit of binding 'orders'",
    );
    expect(logged[0]).toContain(
      "connector.decide('orders', { topic: 'orders', partition: 1, offset: 7 }, 'dead-letter')",
    );
  });

  it('still names the record while it is tried again', () => {
    times(3, () => cycle([gone, gone]));
    become('HALF_OPEN');
    detector.onRecordKept(gone);
    expect(detector.record).toEqual(gone);
  });

  it.each<[string, () => void]>([
    ['another record failed as well', () => cycle([gone, other, gone])],
    ['a trial call of another record succeeded', () => cycle([gone, gone], 3)],
    ['there was no trial call', () => become('HALF_OPEN')],
  ])('names no record when %s in between', (_, between) => {
    times(2, () => cycle([gone, gone]));
    between();
    times(2, () => cycle([gone, gone]));
    expect([detector.record, logged]).toEqual([undefined, []]);
    cycle([gone, gone]);
    expect(logged).toHaveLength(1);
  });

  it('names no record when another one uses the trial calls each time', () => {
    times(3, () => [gone, other].forEach((record) => cycle([record, record])));
    expect([detector.record, logged]).toEqual([undefined, []]);
  });

  it('forgets the record when other records are tried, and logs it again later', () => {
    times(3, () => cycle([gone]));
    cycle([gone, other]);
    become('HALF_OPEN');
    expect(detector.record).toBeUndefined();
    times(4, () => cycle([gone]));
    expect([detector.record, logged.length]).toEqual([gone, 2]);
  });

  it('forgets the record when the circuit closes', () => {
    times(3, () => cycle([gone]));
    become('HALF_OPEN');
    become('CLOSED');
    expect(detector.record).toBeUndefined();
    detector.onRecordKept(gone);
    become('OPEN', 1);
    expect(detector.record).toBeUndefined();
  });

  it("forgets the record when an operator's decision removes it, but not for other records", () => {
    times(3, () => cycle([gone]));
    detector.onRecordRemoved(other);
    expect(detector.record).toEqual(gone);
    detector.onRecordRemoved(placeOf(7));
    expect(detector.record).toBeUndefined();
  });
});
