const usage = `usage: npm run readability -- [options]
  (no option)                measures everything; the last part builds the packages and starts a Kafka
  --static, --skip-run       leaves that last part out
  --json FILE                also writes the figures to FILE
  --check                    fails if a limit is broken (readability/limits.mjs); needs no Kafka
  --sample comments|titles   prints some to judge by reading; --seed N (default 1), --count N (default 40)
  --functions record|failure|shutdown
                             prints every function that runs for this job, by file; needs a Kafka
  --list comments|titles|sentences
                             prints all comments and titles with a bare start, or all sentences that are too long`;

/**
 * @typedef {{ command: 'report', jsonFile?: string, withRun: boolean }} ReportRequest
 * @typedef {{ command: 'sample', subject: 'comments' | 'titles', seed: number, count: number }} SampleRequest
 * @typedef {{ command: 'list', subject: 'comments' | 'titles' | 'sentences' }} ListRequest
 * @typedef {'record' | 'failure' | 'shutdown'} Job
 * @typedef {{ command: 'functions', job: Job }} FunctionsRequest
 * @typedef {ReportRequest | SampleRequest | ListRequest | FunctionsRequest | { command: 'check' } | { command: 'usage', message: string }} Request
 */

/**
 * Converts the words of the command line to a request. Returns the usage if one of the words is
 * unknown.
 * @param {readonly string[]} words
 * @returns {Request}
 */
export function readArguments(words) {
  /** @type {Map<string, string>} */
  const given = new Map();
  for (let index = 0; index < words.length; index++) {
    const [name = '', inline] = (words[index] ?? '').split('=', 2);
    const takesValue = valued.includes(name);
    if (!takesValue && !flags.includes(name)) return unknown(`unknown option ${name}`);
    const value = takesValue ? (inline ?? words[++index]) : '';
    if (value === undefined) return unknown(`${name} needs a value`);
    given.set(name, value);
  }
  return requestOf(given);
}

const valued = ['--json', '--sample', '--list', '--functions', '--seed', '--count'];
const flags = ['--static', '--skip-run', '--check'];

/**
 * @param {ReadonlyMap<string, string>} given
 * @returns {Request}
 */
function requestOf(given) {
  const [seed, count] = [Number(given.get('--seed') ?? 1), Number(given.get('--count') ?? 40)];
  if (!Number.isInteger(seed) || !Number.isInteger(count)) {
    return unknown('--seed and --count are whole numbers');
  }
  const sample = given.get('--sample');
  if (sample === 'comments' || sample === 'titles') {
    return { command: 'sample', subject: sample, seed, count };
  }
  if (sample !== undefined) return unknown(`--sample knows no ${sample}`);
  const list = given.get('--list');
  if (list === 'comments' || list === 'titles' || list === 'sentences') {
    return { command: 'list', subject: list };
  }
  if (list !== undefined) return unknown(`--list knows no ${list}`);
  const job = given.get('--functions');
  if (job === 'record' || job === 'failure' || job === 'shutdown') {
    return { command: 'functions', job };
  }
  if (job !== undefined) return unknown(`--functions knows no ${job}`);
  if (given.has('--check')) return { command: 'check' };
  const withRun = !given.has('--static') && !given.has('--skip-run');
  return { command: 'report', jsonFile: given.get('--json'), withRun };
}

/**
 * @param {string} problem
 * @returns {Request}
 */
const unknown = (problem) => ({ command: 'usage', message: `${problem}\n${usage}` });
