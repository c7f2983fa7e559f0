/**
 * Runs two contenders alternately, in both orders (ABBA), so that neither profits from a warm
 * broker or a warm process, and returns medians with their spread.
 *
 * @param {{ name: string, run: () => Promise<number> }} ours returns a rate: more is better
 * @param {{ name: string, run: () => Promise<number> }} theirs
 * @param {{ rounds?: number, warmUps?: number }} [options]
 */
export async function compareRates(ours, theirs, { rounds = 4, warmUps = 1 } = {}) {
  for (let index = 0; index < warmUps; index++) {
    for (const { name, run } of [ours, theirs])
      console.log(`  warm-up ${index + 1} of ${warmUps}, ${name}: ${Math.round(await run())}`);
  }
  /** @type {{ ours: number[], theirs: number[] }} */
  const rates = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'];
    for (const who of order) {
      const { name, run } = who === 'ours' ? ours : theirs;
      const rate = await run();
      rates[who].push(rate);
      console.log(`  round ${round + 1} of ${rounds}, ${name}: ${Math.round(rate)}`);
    }
  }
  return {
    ours: summary(ours.name, rates.ours),
    theirs: summary(theirs.name, rates.theirs),
    ratio: median(rates.ours) / median(rates.theirs),
  };
}

/** @param {string} name @param {number[]} values */
export function summary(name, values) {
  return { name, median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Returns the median; with an even count, the mean of the two in the middle. @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((left, right) => left - right);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** @param {readonly number[]} values @param {number} share */
export function percentile(values, share) {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
