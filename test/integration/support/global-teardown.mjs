import { recordRemark } from '../../../tools/counts.mjs';
import { endSharedKafka } from './kafka-state.mjs';

/** Longer than any close that is still running may take. */
const EXIT_TIMEOUT_MS = 30_000;

export default async function globalTeardown() {
  await endSharedKafka();
  // The timer does not keep the process alive; it runs only if something else does.
  setTimeout(reportAndExit, EXIT_TIMEOUT_MS).unref();
}

/** Reports a suite that passed but left something open, and ends the run. */
function reportAndExit() {
  const open = process.getActiveResourcesInfo().filter((kind) => !/^(TTY|Pipe)Wrap$/.test(kind));
  const remark = `left open after the last test: ${open.join(', ') || 'nothing that has a name'}`;
  recordRemark(remark);
  process.stderr.write(`${remark}\n`);
  process.exit();
}
