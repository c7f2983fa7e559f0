import type { RecordWait } from '../../model/outcomes/delivery-history.js';
import { WaitingRecords } from './waiting-records.js';

const failed = (message: string): RecordWait => ({
  reason: 'backoff',
  until: 1_000,
  error: new Error(message),
});
const handedBack: RecordWait = { reason: 'delay', until: 1_000 };

/** Records each report with the reasons at that time. */
function waitingRecords() {
  const told: string[] = [];
  const waiting = new WaitingRecords(() => {
    const reasons = (['backoff', 'delay'] as const).filter((reason) => waiting.has(reason));
    told.push(reasons.join(' '));
  });
  return { waiting, told };
}

describe('WaitingRecords', () => {
  it('reports when the first record begins to wait, and when none is left', () => {
    const { waiting, told } = waitingRecords();
    waiting.begin(1, failed('one'));
    waiting.begin(2, failed('two'));
    waiting.begin(1, failed('one again'));
    waiting.end(1);
    waiting.end(3);
    expect(told).toEqual(['backoff']);
    waiting.end(2);
    expect(told).toEqual(['backoff', '']);
  });

  it('reports each reason separately', () => {
    const { waiting, told } = waitingRecords();
    waiting.begin(1, handedBack);
    waiting.begin(2, failed('two'));
    waiting.begin(2, handedBack);
    waiting.end(1);
    waiting.end(2);
    expect(told).toEqual(['delay', 'backoff delay', 'delay', '']);
  });

  it('shows the failed record with the lowest offset', () => {
    const { waiting } = waitingRecords();
    waiting.begin(1, handedBack);
    expect(waiting.lowestFailed).toBeUndefined();
    for (const offset of [7, 3, 5]) waiting.begin(offset, failed(`${offset}`));
    expect(waiting.lowestFailed).toMatchObject({ offset: 3, error: { message: '3' } });
    waiting.end(3);
    expect(waiting.lowestFailed).toMatchObject({ offset: 5 });
  });

  it('drops all records at once, with one report', () => {
    const { waiting, told } = waitingRecords();
    waiting.endAll();
    waiting.begin(1, handedBack);
    waiting.begin(2, failed('two'));
    waiting.endAll();
    waiting.endAll();
    waiting.end(2);
    expect(told).toEqual(['delay', 'backoff delay', '']);
    waiting.begin(1, failed('one'));
    expect(told.at(-1)).toBe('backoff');
  });
});
