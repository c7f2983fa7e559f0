import { join } from 'node:path';
import { Measured } from '../support/measured.mjs';

const PROGRAM = join(import.meta.dirname, '../support/soak-process.mjs');
/** The first part does not count, because code is still being compiled and pools are being filled. */
const WARM_UP_SHARE = 0.3;
/** Difference between two collections of an unchanged heap. */
const SLACK_KIB = 1_024;

/** Returns whether the heap was flat: it may grow by no more than the normal difference between collections. */
export async function soakBench({ brokers, table, minutes }) {
  const child = new Measured(PROGRAM, { brokers, lastsMs: minutes * 60_000 });
  const { samples, done, leakWarnings } = await child.next();
  await child.ended();
  const measured = samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  const inUse = lineThrough(measured.map(({ minute, inUseKiB }) => [minute, inUseKiB]));
  const rss = lineThrough(measured.map(({ minute, rssKiB }) => [minute, rssKiB]));
  const span = measured.at(-1).minute - measured[0].minute;
  const figures = measured.map(({ inUseKiB }) => inUseKiB);
  for (const [what, count] of Object.entries(done)) table.note(what, count, '', '-');
  table.note('memory in use, least', Math.min(...figures), 'KiB', '-');
  table.note('memory in use, most', Math.max(...figures), 'KiB', '-');
  table.note('slope of the memory in use', inUse.slope, 'KiB/min', '-');
  table.note('its growth in the measured time', inUse.slope * span, 'KiB', `<= ${SLACK_KIB}`);
  table.note('slope of the process', rss.slope, 'KiB/min', '-');
  table.note('leak warnings of Node', leakWarnings.length, '', '0');
  const isFlat = inUse.slope * span <= SLACK_KIB && leakWarnings.length === 0;
  console.log(
    `${isFlat ? 'flat' : 'NOT flat'}: ${measured.length} samples over ${span.toFixed(1)} min`,
  );
  return isFlat;
}

/** Fits a line by least squares. @param {readonly (readonly [number, number])[]} points */
function lineThrough(points) {
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const rise = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const run = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return { slope: rise / run };
}
