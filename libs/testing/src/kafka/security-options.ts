export type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER';

/**
 * A listener with TLS or SASL. OAUTHBEARER accepts unsecured tokens (`alg: none`), as Kafka's own
 * test validator does.
 */
export interface SecuredListener {
  /** The kind of TLS; `mutual` requires a client certificate too. Default: no TLS. */
  readonly tls?: 'server' | 'mutual';
  readonly sasl?: SaslMechanism;
  /**
   * The time after which a client must authenticate again or is disconnected. Default: unlimited.
   */
  readonly maxReauthMs?: number;
}

export interface SecurityOptions {
  /** Listeners by a name in lower case; their addresses have the same names. */
  readonly listeners: Readonly<Record<string, SecuredListener>>;
  /** Passwords by user name, for PLAIN and SCRAM. */
  readonly users?: Readonly<Record<string, string>>;
  /**
   * Enables authorization: a client has no permissions, except on the plain listener. Default
   * false.
   */
  readonly authorizer?: boolean;
}

/** Certificates for TLS clients. Both properties can be spread into the options of node:tls. */
export interface Certificates {
  /** The certificate of the brokers in PEM, which a client must trust. */
  readonly ca: string;
  /** A client certificate with its key, which the brokers trust. */
  readonly client: { readonly pfx: Buffer; readonly passphrase: string };
}

export function wantsTls({ listeners }: SecurityOptions): boolean {
  return Object.values(listeners).some(({ tls }) => tls !== undefined);
}
