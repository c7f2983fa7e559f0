import {
  DependencyOutage,
  expectAllHandled,
} from '../../integration/core/support/dependency-outage.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { sizeOf } from './chaos-run.js';

const LONGEST_MS = 400_000;
const ROUND_MS = 200;
/** Writing before and after the outage. */
const BEFORE_AND_AFTER_MS = 10_000;

/** CHAOS_DOWN_MS chooses another duration. */
const downMs = sizeOf('DOWN_MS', { full: 120_000, smoke: 10_000 });
const openMs = sizeOf('OPEN_MS', { full: 5_000, smoke: 1_000 });

describeWithKafka(
  `A dependency that is unavailable for ${downMs / 1_000} s under load`,
  ({ brokers }) => {
    it(
      'opens the circuit and sends nothing to retry topics; afterwards each record is handled once',
      async () => {
        const settings = {
          brokers,
          downMs,
          openMs,
          recordsPerRound: 10,
          rounds: Math.ceil((downMs + BEFORE_AND_AFTER_MS) / ROUND_MS),
          roundMs: ROUND_MS,
          catchUpTimeoutMs: 120_000,
        };
        const report = await new DependencyOutage(settings).run();
        const { written, failedCalls, transitions, rerouted, recoveredAfterMs } = report;
        const halfOpenPhases = transitions.filter(({ to }) => to === 'HALF_OPEN').length;
        process.stderr.write(
          `${written} records, down for ${downMs / 1_000} s: ${failedCalls} calls failed, the circuit was half open ${halfOpenPhases} times, ${rerouted} records were moved to another topic, all were handled ${recoveredAfterMs} ms after the end\n`,
        );
        expectAllHandled(report, settings);
      },
      LONGEST_MS,
    );
  },
);
