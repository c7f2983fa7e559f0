import { brakeOf, type Brake, type BrakeLimits, type BrakeReadings } from './brake.js';

const limits: BrakeLimits = { circuit: true, returned: 10, lag: 1_000, quietMs: 60_000 };
const well: BrakeReadings = { isCircuitOpen: false, returned: 0, quietForMs: 0, lag: 0 };
const returned: Brake = { reason: 'letters-returned', figure: 10, limit: 10 };
const lag: Brake = { reason: 'lag', figure: 1_001, limit: 1_000 };

describe('The brakes of a redrive', () => {
  it.each<[string, Partial<BrakeReadings>, Brake | undefined, Brake | undefined]>([
    ['hold nothing while all is well', {}, undefined, undefined],
    [
      'hold while the circuit is open',
      { isCircuitOpen: true },
      undefined,
      { reason: 'circuit-open' },
    ],
    ['let go when the circuit is not open', {}, { reason: 'circuit-open' }, undefined],
    ['bear fewer returned letters than the limit', { returned: 9 }, undefined, undefined],
    ['hold at the limit of returned letters', { returned: 10 }, undefined, returned],
    [
      'hold until no letter came back for a while',
      { returned: 10, quietForMs: 59_999 },
      returned,
      returned,
    ],
    ['let go after the quiet time', { returned: 10, quietForMs: 60_000 }, returned, undefined],
    [
      'hold after another brake if letters came back',
      { returned: 10, quietForMs: 60_000 },
      { reason: 'circuit-open' },
      returned,
    ],
    ['bear the lag at its limit', { lag: 1_000 }, undefined, undefined],
    ['hold above the limit of the lag', { lag: 1_001 }, undefined, lag],
    ['hold until the lag is half of its limit', { lag: 501 }, lag, { ...lag, figure: 501 }],
    ['let go at half of the lag', { lag: 500 }, lag, undefined],
    ['keep the last decision if the lag is not known', { lag: undefined }, lag, lag],
    ['hold nothing if the lag was never known', { lag: undefined }, undefined, undefined],
  ])('%s', (_, readings, held, expected) => {
    expect(brakeOf(limits, { ...well, ...readings }, held)).toEqual(expected);
  });

  it('that are switched off hold nothing', () => {
    const off = { circuit: false, returned: undefined, lag: undefined, quietMs: 0 };
    const bad = { isCircuitOpen: true, returned: 1_000, quietForMs: 0, lag: 1_000_000 };
    expect(brakeOf(off, bad, undefined)).toBeUndefined();
  });
});
