import fc from 'fast-check';
import { Histogram, sumOfHistograms } from './histogram.js';

describe('Histogram', () => {
  it('counts each value in the first bucket whose bound is not below it', () => {
    const histogram = new Histogram([1, 5]);
    for (const value of [0, 1, 1.1, 5, 6]) histogram.record(value);
    histogram.record(2, 3);
    expect(histogram.values).toEqual({ bounds: [1, 5], counts: [2, 5, 1], count: 8, sum: 19.1 });
  });

  it('has one count per value, whatever the values are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 500 })), (values) => {
        const histogram = new Histogram([1, 10, 100]);
        for (const value of values) histogram.record(value);
        const { count, counts, sum } = histogram.values;
        expect(count).toBe(values.length);
        expect(counts[1]).toBe(values.filter((value) => value > 1 && value <= 10).length);
        expect(sum).toBe(values.reduce((total, value) => total + value, 0));
      }),
    );
  });
});

describe('sumOfHistograms()', () => {
  it('adds up counts and sums, and returns undefined without a histogram', () => {
    const [one, other] = [new Histogram([1]), new Histogram([1])];
    one.record(1);
    other.record(3, 2);
    expect(sumOfHistograms([one.values, other.values])).toEqual({
      bounds: [1],
      counts: [1, 2],
      count: 3,
      sum: 7,
    });
    expect(sumOfHistograms([])).toBeUndefined();
  });
});
