import { DownDependency, expectCarriedThrough } from '../../integration/core/down-dependency.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { sizeOf } from './chaos-run.js';

const LONGEST_MS = 400_000;
const TURN_MS = 200;
/** Of writing before the outage and after it. */
const AROUND_MS = 10_000;

/** CHAOS_DOWN_MS makes it another outage. */
const downMs = sizeOf('DOWN_MS', { full: 120_000, smoke: 10_000 });
const openMs = sizeOf('OPEN_MS', { full: 5_000, smoke: 1_000 });

describeWithKafka(`a dependency that is down for ${downMs / 1_000} s under load`, ({ brokers }) => {
  it(
    'opens the circuit and floods no retry topic; afterwards everything is handled, once',
    async () => {
      const settings = {
        brokers,
        downMs,
        openMs,
        recordsPerTurn: 10,
        turns: Math.ceil((downMs + AROUND_MS) / TURN_MS),
        turnMs: TURN_MS,
        patienceMs: 120_000,
      };
      const report = await new DownDependency(settings).run();
      const { written, failedCalls, transitions, rerouted, recoveredAfterMs } = report;
      const probed = transitions.filter(({ to }) => to === 'HALF_OPEN').length;
      process.stderr.write(
        `${written} records, down for ${downMs / 1_000} s: ${failedCalls} calls failed, the circuit was half open ${probed} times, ${rerouted} records left their topic, all were handled ${recoveredAfterMs} ms after the end\n`,
      );
      expectCarriedThrough(report, settings);
    },
    LONGEST_MS,
  );
});
