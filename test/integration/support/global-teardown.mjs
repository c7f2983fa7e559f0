import { recordRemark } from '../../../tools/counts.mjs';
import { endSharedKafka } from './kafka-state.mjs';

/** Longer than any close that is under way may take. */
const PATIENCE_MS = 30_000;

export default async function globalTeardown() {
  await endSharedKafka();
  // In the background: it only comes to pass when something else keeps the process alive.
  setTimeout(tellAndEnd, PATIENCE_MS).unref();
}

/** A suite that passed and left something open must be found, but it must not hold up the run for ever. */
function tellAndEnd() {
  const open = process.getActiveResourcesInfo().filter((kind) => !/^(TTY|Pipe)Wrap$/.test(kind));
  const remark = `left open after the last test: ${open.join(', ') || 'nothing that has a name'}`;
  recordRemark(remark);
  process.stderr.write(`${remark}\n`);
  process.exit();
}
