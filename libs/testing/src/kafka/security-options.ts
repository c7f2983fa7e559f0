export type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER';

/** A listener beside the plain one. OAUTHBEARER takes unsecured tokens (`alg: none`), as Kafka's own test validator does. */
export interface SecuredListener {
  /** `mutual` wants a certificate from the client as well. Default: no TLS. */
  readonly tls?: 'server' | 'mutual';
  readonly sasl?: SaslMechanism;
  /** How long an authentication is good for; then the client authenticates again or is cut off. Default: for ever. */
  readonly maxReauthMs?: number;
}

export interface SecurityOptions {
  /** By names of your own, in lower case: their addresses are found under the same names. */
  readonly listeners: Readonly<Record<string, SecuredListener>>;
  /** Passwords by user name, for PLAIN and SCRAM. */
  readonly users?: Readonly<Record<string, string>>;
  /** Checks rights: nobody has any, except who comes by the plain listener. Default false. */
  readonly authorizer?: boolean;
}

/** Both can be spread into the options of node:tls. */
export interface Certificates {
  /** In PEM: what a client must trust. */
  readonly ca: string;
  /** A client's certificate with its key, which the brokers trust. */
  readonly client: { readonly pfx: Buffer; readonly passphrase: string };
}

export function wantsTls({ listeners }: SecurityOptions): boolean {
  return Object.values(listeners).some(({ tls }) => tls !== undefined);
}
