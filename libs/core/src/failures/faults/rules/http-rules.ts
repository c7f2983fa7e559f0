import type { FaultRule } from '../fault.js';

/**
 * Statuses of Nest's exceptions and of HTTP clients. Excluded on purpose: 404 (the resource may still
 * be on its way), 409 and 412 (a concurrent change; the next attempt reads again), 500 and 501 (the
 * server has a bug, perhaps for this request only).
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
    // Includes 401 and 403: by the specification no call can help against failed authentication.
    name: 'HTTP 400, 401, 403, 405, 406, 410, 413, 414, 415, 422: this request is never accepted',
    fault: 'message',
    matches: ({ httpStatus }) => REFUSED.has(httpStatus),
  },
];

const BUSY: ReadonlySet<number | undefined> = new Set([408, 425, 429, 502, 504]);

const REFUSED: ReadonlySet<number | undefined> = new Set([
  400, 401, 403, 405, 406, 410, 413, 414, 415, 422,
]);
