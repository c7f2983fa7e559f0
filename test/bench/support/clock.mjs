/**
 * Measures by processor time of this process with `--cpu`, because wall-clock time says little on a shared
 * machine.
 */
export const byProcessorTime = process.argv.includes('--cpu');

/** Returns milliseconds. */
export const clock = byProcessorTime ? processorTime : () => performance.now();

function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
