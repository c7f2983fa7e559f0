import type { FaultRule } from '../fault.js';

export const redisRules: readonly FaultRule[] = [
  {
    name: 'ioredis has no connection, or waited too long',
    fault: 'dependency',
    matches: ({ names, message }) =>
      CLIENT_ERRORS.some((name) => names.has(name)) || WORDS.has(message),
  },
  {
    name: 'Redis: the server is loading, read-only, full, out of order or refuses the login',
    fault: 'dependency',
    matches: ({ names, message }) => names.has('ReplyError') && REPLIES.test(message),
  },
];

const CLIENT_ERRORS = ['MaxRetriesPerRequestError', 'ClusterAllFailedError'];

/** Messages of errors without a code. */
const WORDS: ReadonlySet<string> = new Set([
  "Cluster isn't ready and enableOfflineQueue options is false",
  'Command timed out',
  'Connection is closed.',
  'None of startup nodes is available',
  "Stream isn't writeable and enableOfflineQueue options is false",
]);

/**
 * First words of error replies that mean a dependency fault. Others, such as WRONGTYPE, mean bugs.
 */
const REPLIES =
  /^(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOAUTH|NOREPLICAS|OOM|READONLY|TRYAGAIN|UNBLOCKED|WRONGPASS)\b/;
