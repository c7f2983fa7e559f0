import fc from 'fast-check';
import { durationComplaint, isDuration, LONGEST_DURATION_MS, parseDuration } from './duration.js';

describe('parseDuration()', () => {
  it.each([
    [0, 0],
    [250, 250],
    ['250ms', 250],
    ['10s', 10_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['1.5s', 1_500],
    ['1.1m', 66_000],
    [' 10 s ', 10_000],
    [LONGEST_DURATION_MS, LONGEST_DURATION_MS],
  ])('reads %p as %d ms', (given, milliseconds) => {
    expect(parseDuration(given)).toBe(milliseconds);
    expect(isDuration(given)).toBe(true);
    expect(durationComplaint(given)).toBeUndefined();
  });

  const FORMS = "a number of milliseconds, or a text like '250ms', '10s', '5m', '1h' or '7d'";
  it.each<[unknown, string]>([
    ['250', "'250' has no unit: write 250 or '250ms'."],
    ['10sec', `'10sec' is no duration. Write ${FORMS}.`],
    ['-1s', `'-1s' is no duration. Write ${FORMS}.`],
    ['', `'' is no duration. Write ${FORMS}.`],
    ['PT10S', `'PT10S' is no duration. Write ${FORMS}.`],
    [-1, '-1 is negative. A duration is 0 or more.'],
    [0.5, '0.5 is not a whole number of milliseconds.'],
    ['0.5ms', "'0.5ms' is not a whole number of milliseconds."],
    [Number.NaN, 'NaN is not a whole number of milliseconds.'],
    [Infinity, 'Infinity is not a whole number of milliseconds.'],
    [
      '25d',
      "'25d' is longer than 2147483647 ms (almost 25 days), which is the longest that can be waited for.",
    ],
    [true, `A duration is ${FORMS}.`],
    [null, `A duration is ${FORMS}.`],
    [undefined, `A duration is ${FORMS}.`],
    [{ ms: 1 }, `A duration is ${FORMS}.`],
  ])('refuses %p', (given, message) => {
    expect(() => parseDuration(given)).toThrow(new TypeError(message));
    expect(isDuration(given)).toBe(false);
  });

  it('reads every whole number of every unit exactly', () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
    const unit = fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[]));
    fc.assert(
      fc.property(unit, fc.nat({ max: 24 }), (name, amount) => {
        expect(parseDuration(`${amount}${name}`)).toBe(amount * units[name]);
      }),
    );
  });
});
