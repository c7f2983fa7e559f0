import { Session } from 'node:inspector/promises';

const EVERY_MICROSECONDS = 200;
/** 'dispatch' is the function that starts and stops the profile. */
const IGNORED = ['(idle)', '(root)', 'dispatch'];

/**
 * Runs it under Node's own profiler. Returns its result, and the share of samples of each place, in
 * descending order.
 */
export async function whereTimeGoes(run, placeOf) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: EVERY_MICROSECONDS });
  await session.post('Profiler.start');
  const result = await run();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return { result, shares: sharesOf(profile, placeOf) };
}

/** Uses self time: the time of a called function counts for that function. Waiting and the profiler do not count. */
function sharesOf({ nodes, samples, timeDeltas }, placeOf) {
  const atWork = nodes.filter(({ callFrame }) => !IGNORED.includes(callFrame.functionName));
  const places = new Map(atWork.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const times = new Map();
  let whole = 0;
  samples.forEach((id, index) => {
    const place = places.get(id);
    if (place === undefined) return;
    times.set(place, (times.get(place) ?? 0) + timeDeltas[index]);
    whole += timeDeltas[index];
  });
  return [...times]
    .map(([place, time]) => ({ place, share: time / whole }))
    .sort((left, right) => right.share - left.share);
}

/** Returns the folder of ours that contains the function, such as `core/consuming`, or the package that owns it. */
export function folderOf({ url, functionName }) {
  if (functionName.startsWith('(')) return functionName;
  const ours = /\/libs\/(\w+)\/dist\/\w+\/([\w/-]+)\/[\w.-]+$/.exec(url);
  if (ours) return `${ours[1]}/${ours[2]}`;
  const theirs = /\/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//.exec(url);
  if (theirs) return theirs[1];
  if (url.startsWith('node:')) return 'node';
  if (url === '') return `native ${functionName}`;
  return 'the bench itself';
}

/** Returns the name of the function. */
export function functionOf(frame) {
  const { functionName, url, lineNumber } = frame;
  return url === ''
    ? functionName
    : `${functionName || '(anonymous)'}  ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`;
}
