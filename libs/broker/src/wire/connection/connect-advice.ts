import { errorCodeOf, errorNameOf } from '../../port/error-text.js';

/** The security options of a connection. */
export interface SecuritySettings {
  readonly ssl?: unknown;
  readonly sasl?: unknown;
}

/** The advice for TLS errors, by Node's error code. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF|GET_ISSUER)|CERT_UNTRUSTED/,
    "This process does not trust who signed the broker's certificate: give that authority's certificate as ssl: { ca }.",
  ],
  [
    /ALTNAME_INVALID/,
    "The broker's certificate is for another name: let the broker advertise a name that the certificate has, or say which one to expect with ssl: { servername }.",
  ],
  [
    /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/,
    "The broker's certificate is not valid today: renew it, or set the clock of this machine right.",
  ],
  [
    /ALERT/,
    'The broker refused the handshake. If it asks for a certificate (mutual TLS), give one that it trusts as ssl: { cert, key } or { pfx, passphrase }.',
  ],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH|UNEXPECTED_MESSAGE/,
    'This listener of the broker seems not to speak TLS: take the port of one that does, or leave ssl out.',
  ],
];

/**
 * Returns the advice for a connection that could not be opened; empty if the error message is clear
 * enough.
 */
export function adviceOnFailure(error: unknown, secured: SecuritySettings): string {
  const code = errorCodeOf(error) ?? '';
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1];
  if (advice !== undefined) return ` ${advice}`;
  const isHangUp = code === 'ECONNRESET' || errorNameOf(error) === 'KafkaJSConnectionClosedError';
  return isHangUp ? adviceOnHangUp(secured) : '';
}

/**
 * Returns the advice for a listener that closed the connection before any response. Such a listener
 * expects another security protocol.
 */
export function adviceOnHangUp({ ssl, sasl }: SecuritySettings): string {
  if (ssl) return ' If this listener of the broker does not speak TLS, leave ssl out.';
  return sasl
    ? ' If this listener of the broker speaks TLS, give ssl as well.'
    : ' If this listener of the broker wants TLS or SASL, give ssl or sasl.';
}
