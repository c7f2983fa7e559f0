import type { BrokerError } from '../../port/errors.js';
import type { AssignorName } from '../../port/consumer.js';
import { describeCode, errorOfCode } from '../../wire/index.js';

export interface GroupSettings {
  readonly groupId: string;
  readonly groupInstanceId: string | null;
  readonly assignors: readonly AssignorName[];
  readonly sessionTimeoutMs: number;
}

/** The advice for error codes that a retry does not resolve. */
const ADVICE: Readonly<Record<string, (settings: GroupSettings) => string>> = {
  INCONSISTENT_GROUP_PROTOCOL: ({ groupId, assignors }) =>
    `This member offers the assignors ${assignors.join(', ')}. Offer one that every other member of "${groupId}" has ("assignors"; most clients have "range"), or use another groupId. The other members may also not be consumers at all.`,
  INVALID_SESSION_TIMEOUT: ({ sessionTimeoutMs }) =>
    `sessionTimeoutMs is ${sessionTimeoutMs}: choose one that the broker allows (6 s to 30 min by default).`,
  FENCED_INSTANCE_ID: ({ groupInstanceId }) =>
    `Two sessions use the groupInstanceId "${groupInstanceId}", and the later one replaced this one. Give each session its own, or find out why both are running.`,
  UNRELEASED_INSTANCE_ID: ({ groupInstanceId }) =>
    `Another session still has the groupInstanceId "${groupInstanceId}": this one waits until that session closes or expires. Give each session its own.`,
  GROUP_ID_NOT_FOUND: ({ groupId }) =>
    `Group "${groupId}" has members of another protocol, and the broker does not change it over. Allow it (group.consumer.migration.policy=bidirectional), stop the other members first, or set groupProtocol to 'classic'.`,
  INVALID_GROUP_ID: () => 'Choose another groupId.',
  GROUP_AUTHORIZATION_FAILED: ({ groupId }) =>
    `Allow these credentials to Read group "${groupId}".`,
  GROUP_MAX_SIZE_REACHED: () => 'Stop other members, or raise group.max.size.',
};

export function groupError(code: number, doing: string, settings: GroupSettings): BrokerError {
  const advice = ADVICE[describeCode(code).name]?.(settings);
  return errorOfCode(code, `Group "${settings.groupId}": ${doing}`, advice);
}
