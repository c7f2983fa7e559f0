import type { FaultRule } from '../fault.js';

/**
 * Of Nest's exceptions as of what a client answers with. Left out on purpose: 404 (what is looked
 * for may still be on its way), 409 and 412 (somebody was faster; the next try reads anew), 500 and
 * 501 (the other side has a bug, perhaps for this request only).
 */
export const httpRules: readonly FaultRule[] = [
  {
    name: 'HTTP 503: the service is not available',
    fault: 'dependency',
    isExtended: true,
    matches: ({ httpStatus, names }) =>
      httpStatus === 503 || names.has('ServiceUnavailableException'),
  },
  {
    name: 'HTTP 408, 425, 429, 502, 504: too busy, too early or out of reach',
    fault: 'dependency',
    matches: ({ httpStatus }) => BUSY.has(httpStatus),
  },
  {
    // 401 and 403, too: the specification counts authentication among what no call can help.
    name: 'HTTP 400, 401, 403, 405, 406, 410, 413, 414, 415, 422: this request is never accepted',
    fault: 'message',
    matches: ({ httpStatus }) => REFUSED.has(httpStatus),
  },
];

const BUSY: ReadonlySet<number | undefined> = new Set([408, 425, 429, 502, 504]);

const REFUSED: ReadonlySet<number | undefined> = new Set([
  400, 401, 403, 405, 406, 410, 413, 414, 415, 422,
]);
