import type { FaultRule } from '../fault.js';

/** Causes of fetch's TypeError('fetch failed'). */
export const networkRules: readonly FaultRule[] = [
  {
    name: 'the network failed',
    fault: 'dependency',
    matches: ({ code }) => NETWORK.has(code),
  },
  {
    name: 'undici lost its connection, or timed out',
    fault: 'dependency',
    matches: ({ code }) => UNDICI.has(code),
  },
  {
    name: 'the certificate of the server is not accepted',
    fault: 'dependency',
    matches: ({ code }) => CERTIFICATES.has(code),
  },
  {
    name: 'this process or its machine has run out of a resource',
    fault: 'dependency',
    matches: ({ code }) => EXHAUSTED.has(code),
  },
  {
    // AbortError is excluded: nothing says who cancelled the work, and why.
    name: 'a timeout',
    fault: 'dependency',
    matches: ({ names }) => names.has('TimeoutError'),
  },
];

type Codes = ReadonlySet<string | number | undefined>;

const NETWORK: Codes = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'EPROTO',
  'ESOCKETTIMEDOUT',
  'ETIMEDOUT',
  // The code of axios.
  'ERR_NETWORK',
  'ERR_SOCKET_CLOSED',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** Codes of undici. Its other codes report wrong arguments, which is a bug. */
const UNDICI: Codes = new Set([
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_DESTROYED',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
]);

const CERTIFICATES: Codes = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_HANDSHAKE_TIMEOUT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const EXHAUSTED: Codes = new Set([
  'EAGAIN',
  'EBUSY',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'ENOSPC',
]);
