import { realRuntime } from '@nest-event-bus/broker/runtime';
import { StormLedger } from '../integration/core/storm-ledger.js';

/** Three records of one key in one partition, which somebody has. */
function assigned() {
  const ledger = new StormLedger(1);
  for (let count = 0; count < 3; count++) ledger.write(0, 'key');
  return { ledger, tenure: ledger.open(0) };
}

describe('what a storm of members would notice', () => {
  it('a record that is handed out after its partition was asked back', async () => {
    const { ledger, tenure } = assigned();
    tenure.revoke();
    // It was on its way to its handler.
    ledger.begin(tenure, 0, 0);
    ledger.finish(tenure, 0);
    await new Promise<void>((resolve) => realRuntime.defer(resolve));
    expect(ledger.broken).toEqual([]);
    ledger.begin(tenure, 0, 1);
    expect(ledger.broken).toEqual(['0/1 was begun after its partition was asked back']);
  });

  it('a record that overtakes another one of its key, but for those of its own slice', () => {
    const { ledger, tenure } = assigned();
    ledger.begin(tenure, 0, 0);
    ledger.begin(tenure, 0, 1, [0]);
    expect(ledger.broken).toEqual([]);
    ledger.begin(tenure, 0, 2);
    expect(ledger.broken).toEqual(['0/2 was begun before 1 of its key was done']);
  });

  it('a record that comes again though it was done, unless its slice was at work', () => {
    const { ledger } = assigned();
    const [one, slices, other] = [ledger.open(0), ledger.open(0, true), ledger.open(0)];
    const done = (tenure: typeof one, offset: number): void => {
      ledger.begin(tenure, 0, offset);
      ledger.finish(tenure, offset);
    };
    done(slices, 0);
    ledger.commit({ topic: 't', partition: 0, offset: 1 });
    done(slices, 1);
    done(one, 2);
    for (const tenure of [one, slices]) tenure.end();
    for (const offset of [0, 1, 2]) ledger.begin(other, 0, offset);
    expect(ledger.broken).toEqual(
      ['0/0', '0/2'].map(
        (name) => `${name} came again without having been in flight at the revoke`,
      ),
    );
  });

  it('a record that comes twice, unless it failed or was given back', () => {
    const { ledger, tenure } = assigned();
    ledger.begin(tenure, 0, 0);
    ledger.begin(tenure, 0, 1, [0]);
    ledger.fail(tenure, 0);
    ledger.giveBack(tenure, 1);
    for (const offset of [0, 1]) {
      ledger.begin(tenure, 0, offset);
      ledger.finish(tenure, offset);
    }
    expect(ledger.broken).toEqual([]);
    ledger.begin(tenure, 0, 1);
    expect(ledger.broken).toEqual(['0/1 came twice in one assignment']);
  });
});
