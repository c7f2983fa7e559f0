import { createTopics, startReplay, writeLetters } from './letters.mjs';

const PARTITIONS = 6;
const MIB = 1024 * 1024;
const SAMPLE_EVERY_MS = 50;

/** Plans of many letters, by a filter and by a group of cause: seconds, and the growth of the process. */
export async function planBench(bench) {
  const topic = 'bench-plan';
  const letters = bench.planLetters;
  await createTopics(bench, { topic, partitions: PARTITIONS });
  await writeLetters(bench, { topic, letters, partitions: PARTITIONS });
  const { replay, close } = await startReplay(bench, topic);
  const { groups } = await replay.plan('bench', { limit: 1 });
  const requests = {
    'by exception class': { exceptionClass: 'TimeoutError' },
    'by original offset': { originalOffset: { from: 0, to: letters / 4 } },
    'by group of cause': { group: groups[0].id },
  };
  for (const [what, where] of Object.entries(requests)) {
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let most = before;
    const sample = () => (most = Math.max(most, process.memoryUsage().rss));
    const sampling = setInterval(sample, SAMPLE_EVERY_MS);
    const startedAt = performance.now();
    const usedBefore = process.cpuUsage();
    const { selected } = await replay.plan('bench', { where });
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(usedBefore);
    clearInterval(sampling);
    if (Math.abs(selected - letters / 4) > 1) throw new Error(`Selected ${selected}.`);
    const name = `plan of ${letters.toLocaleString('en-US')} letters ${what}`;
    bench.table.note(name, seconds, 's', 'seconds');
    bench.table.note(
      '  processor time of the process',
      (user + system) / 1_000_000,
      's',
      'seconds',
    );
    bench.table.note(`  growth of the process`, (most - before) / MIB, 'MiB', 'bounded');
  }
  await close();
}
