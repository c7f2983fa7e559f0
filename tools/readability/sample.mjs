import { findComments } from './find-comments.mjs';
import { findTitles } from './find-titles.mjs';

const LINES_BEHIND = 3;

/**
 * Returns a random sample of comments or titles for a reader to judge. The same seed gives the same
 * sample of the same tree.
 * @param {import('./repository.mjs').Repository} repository
 * @param {import('./arguments.mjs').SampleRequest} request
 * @returns {string}
 */
export function drawSample({ sources, tests }, { subject, seed, count }) {
  if (subject === 'titles') {
    return draw(tests.flatMap(findTitles), count, seed)
      .map(({ path, line, title, chain }) => `${path}:${line}\n  ${[...chain, title].join(' > ')}`)
      .join('\n\n');
  }
  const shown = [...sources.values()].flat().flatMap((source) => {
    const lines = source.text.split('\n');
    return findComments(source).map((comment) => ({ ...comment, lines }));
  });
  return draw(shown, count, seed)
    .map(({ path, line, lastLine, lines }) => {
      const excerpt = lines.slice(line - 1, lastLine + LINES_BEHIND);
      return [`${path}:${line}`, ...excerpt.map((each) => `  ${each}`)].join('\n');
    })
    .join('\n\n');
}

/**
 * Draws values at random, each at most once.
 * @template T
 * @param {readonly T[]} values
 * @param {number} count
 * @param {number} seed
 * @returns {T[]}
 */
export function draw(values, count, seed) {
  const random = randomNumbers(seed);
  const rest = [...values];
  const drawn = [];
  while (drawn.length < count && rest.length > 0) {
    drawn.push(...rest.splice(Math.floor(random() * rest.length), 1));
  }
  return drawn;
}

/**
 * mulberry32, the generator by Tommy Ettinger: 32 bits of state, each step adds a constant and mixes the bits.
 * The numbers are good enough for a sample, and the same on every machine.
 * @param {number} seed
 * @returns {() => number} from 0 up to, but without, 1
 */
function randomNumbers(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
