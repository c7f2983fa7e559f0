import {
  anyOf,
  choice,
  explained,
  flag,
  integer,
  list,
  named,
  nothing,
  object,
  text,
  time,
  type ValueOf,
} from '../schema.js';
import { bindingState } from './binding-state.js';
import { count, partitionNumber } from './common-schemas.js';

export const scope = choice('process', 'fleet');

const durationText = '^\\d{1,15}(\\.\\d{1,9})? ?(ms|s|m|h|d)$';

/** How a command reaches the other processes of the group. */
export const reachQuery = {
  scope: explained(
    "'process': only the process that answers. 'fleet': every process that has the binding. Default: the fleet, if a control topic is configured.",
    scope,
  ),
  wait: text({
    pattern: durationText,
    description: "How long to wait for the answers of the instances, at most '5m'. Default '10s'.",
  }),
  validFor: text({
    pattern: durationText,
    description: "An instance that reads the command later does not obey it. Default '30s'.",
  }),
};

const instanceAnswer = named(
  'InstanceAnswer',
  object(
    {
      instance: text(),
      result: explained(
        "'unchanged': it was in that state before. 'refused': its state does not allow the command. 'expired': it read the command too late. 'no-answer': nothing is known.",
        choice('done', 'unchanged', 'refused', 'failed', 'expired', 'no-answer'),
      ),
    },
    {
      state: bindingState,
      pauses: list(text()),
      code: text(),
      message: text(),
      tookMs: integer({ minimum: 0 }),
      reportedAt: time('The last report of an instance that has not answered.'),
    },
  ),
);

export const reach = named(
  'Reach',
  object(
    {
      scope: explained("'process': the answer speaks for this process only.", scope),
      isComplete: flag('True if everyone in the scope has done it. Of a decision: if one has.'),
    },
    {
      command: text(),
      validUntil: time(),
      instances: list(instanceAnswer),
    },
  ),
);

const instanceBinding = object({
  name: text(),
  cluster: text(),
  groupId: text(),
  state: bindingState,
  pauses: list(text()),
  pausedTiers: list(count),
  assignment: list(object({ topic: text(), partitions: list(partitionNumber) })),
  lag: explained(
    'Records of the assigned partitions that are not committed. Null if not known.',
    anyOf(count, nothing),
  ),
});

export const instances = named(
  'Instances',
  object({
    scope: explained(
      "'process': no control topic is configured, so only this process is known.",
      scope,
    ),
    instances: list(
      named(
        'Instance',
        object({
          name: text(),
          host: text(),
          version: text(),
          startedAt: time(),
          reportedAt: time(),
          isSilent: flag('True if it has missed its last reports.'),
          bindings: list(instanceBinding),
        }),
      ),
    ),
    orders: explained(
      'Pauses and stops in force. New processes adopt them.',
      list(
        object(
          {
            binding: text(),
            cluster: text(),
            order: choice('paused', 'stopped', 'tier-paused'),
            at: time(),
          },
          { tier: count, by: text(), reason: text() },
        ),
      ),
    ),
  }),
);

export type AdminInstances = ValueOf<typeof instances>;
