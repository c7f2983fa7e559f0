import { realRuntime } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../../integration/support/index.js';
import { expectOwnership, print } from './support/expect-ownership.js';
import { OwnershipRound } from './support/ownership-round.js';
import { SeededRandom } from './support/seeded-random.js';

const smoke = process.env['CHAOS_SMOKE'] === '1';
const ROUNDS_END_AFTER_MS = 150_000;
const LONGEST_ROUND_MS = 90_000;

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`Partition ownership under disturbances, seed ${seed}`, ({ brokers }) => {
  it(
    'is exclusive, commits in revocations are quick, and no record is lost or skipped',
    async () => {
      const random = new SeededRandom(seed);
      const endsAt = realRuntime.monotonic() + (smoke ? 0 : ROUNDS_END_AFTER_MS);
      do {
        const sessionTimeoutMs = random.oneOf([1_000, 1_500, 2_000]);
        const round = new OwnershipRound({
          brokers,
          seed: random.between(0, 2 ** 31),
          sessionTimeoutMs,
          longestPauseMs: smoke ? 500 : 3_000,
        });
        const report = await round.run();
        print(report);
        expectOwnership(report, sessionTimeoutMs);
      } while (realRuntime.monotonic() < endsAt);
    },
    ROUNDS_END_AFTER_MS + LONGEST_ROUND_MS,
  );
});
