/** With `--cpu`: by the processor time of this process. On a machine that others use as well the clock says little. */
export const byProcessorTime = process.argv.includes('--cpu');

/** In milliseconds. */
export const clock = byProcessorTime ? processorTime : () => performance.now();

function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
