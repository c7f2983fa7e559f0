import { WatermarkHistory } from './watermark-history.js';

let history: WatermarkHistory;

beforeEach(() => {
  history = new WatermarkHistory();
});

describe('WatermarkHistory', () => {
  it('interpolates when a record was written', () => {
    history.add(1_000, 0);
    history.add(2_000, 100);
    history.add(3_000, 100);
    history.add(9_000, 100);
    history.add(10_000, 300);
    expect(history.arrivalOf(49)).toEqual({ earliest: 1_000, latest: 2_000, estimate: 1_500 });
    expect(history.arrivalOf(199)).toEqual({ earliest: 9_000, latest: 10_000, estimate: 9_500 });
  });

  it('knows only the latest time of a record that is older than the history', () => {
    history.add(1_000, 10);
    expect(history.arrivalOf(9)).toEqual({
      earliest: -Infinity,
      latest: 1_000,
      estimate: undefined,
    });
    expect(history.arrivalOf(10)).toBeUndefined();
  });

  it('forgets a log whose watermark went back', () => {
    history.add(1_000, 500);
    history.add(2_000, 10);
    expect(history.arrivalOf(400)).toBeUndefined();
    expect(history.arrivalOf(5)?.latest).toBe(2_000);
  });

  it('remembers months of polls in bounded memory, the latest ones exactly', () => {
    const polls = 1_000_000;
    for (let poll = 0; poll < polls; poll++) history.add(poll * 10_000, poll * 10);
    const recent = history.arrivalOf((polls - 30) * 10);
    expect(recent?.latest).toBe((polls - 29) * 10_000);
    expect(recent?.earliest).toBe((polls - 30) * 10_000);
    const old = history.arrivalOf((polls - 5_000) * 10);
    expect(old?.latest).toBeGreaterThanOrEqual((polls - 5_000) * 10_000);
    expect(JSON.stringify(history)).toBe('{}');
  });
});
