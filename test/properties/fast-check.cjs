/**
 * What a spec gets for `import fc from 'fast-check'`. Every run generates the same cases, so that a
 * change is judged by its own failures. `PROPERTY_SEED=random` generates new cases,
 * `PROPERTY_SEED=<number>` repeats those of a failure.
 */
const fastCheck = require('../../node_modules/fast-check/lib/cjs/fast-check.js');

const DEFAULT_SEED = 20_261_120;
const given = process.env.PROPERTY_SEED;

if (given !== 'random') {
  const seed = given === undefined ? DEFAULT_SEED : Number(given);
  if (!Number.isSafeInteger(seed)) {
    throw new Error(`PROPERTY_SEED must be a whole number or 'random', not '${given}'`);
  }
  fastCheck.configureGlobal({ seed });
}

module.exports = fastCheck;
