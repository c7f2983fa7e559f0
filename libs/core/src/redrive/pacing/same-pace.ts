import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import { canaryOf } from '../canary/canary-options.js';
import { canonicalText } from '../planning/request-digest.js';
import type { RunOptions } from '../redrive-request.js';

/**
 * Refuses other options for an operation that runs in this process, because they would have no
 * effect. Without options, a second run is the same run.
 */
export function requireSamePace(binding: string, active: RunOptions, asked: RunOptions): void {
  const wanted = paceOf(asked);
  if (wanted === paceOf({}) || wanted === paceOf(active)) return;
  throw new RedriveRefusedException(
    binding,
    'the operation runs in this process already, with other options, and they cannot be changed. Stop it first, or run it without rate, ramp, brakes and canary.',
  );
}

const paceOf = ({ brakes, canary, ramp, rate }: RunOptions): string =>
  canonicalText({
    brakes,
    ramp,
    rate,
    canary: canary === undefined ? undefined : canaryOf(canary),
  });
