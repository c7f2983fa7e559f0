import type { TcpNetConnectOpts } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { SaslOptions } from '@nest-event-bus/broker/kafkajs';

/** The compiler checks that the table has every key of the type, and no other. */
type KeyTable<T> = Record<T extends unknown ? keyof T : never, true>;

const TLS: KeyTable<ConnectionOptions> = {
  ALPNCallback: true,
  ALPNProtocols: true,
  SNICallback: true,
  allowPartialTrustChain: true,
  ca: true,
  cert: true,
  checkServerIdentity: true,
  ciphers: true,
  clientCertEngine: true,
  crl: true,
  dhparam: true,
  ecdhCurve: true,
  enableTrace: true,
  honorCipherOrder: true,
  host: true,
  key: true,
  lookup: true,
  maxVersion: true,
  minDHSize: true,
  minVersion: true,
  passphrase: true,
  path: true,
  pfx: true,
  port: true,
  privateKeyEngine: true,
  privateKeyIdentifier: true,
  pskCallback: true,
  rejectUnauthorized: true,
  requestCert: true,
  secureContext: true,
  secureOptions: true,
  secureProtocol: true,
  servername: true,
  session: true,
  sessionIdContext: true,
  sessionTimeout: true,
  sigalgs: true,
  socket: true,
  ticketKeys: true,
  timeout: true,
};

/** Options of the TCP connection, which `tls.connect` passes on. */
const TCP = [
  'autoSelectFamily',
  'autoSelectFamilyAttemptTimeout',
  'family',
  'hints',
  'keepAlive',
  'keepAliveInitialDelay',
  'localAddress',
  'localPort',
  'noDelay',
] as const satisfies readonly (keyof TcpNetConnectOpts)[];

export const TLS_KEYS: readonly string[] = [...Object.keys(TLS), ...TCP];

const SASL: KeyTable<SaslOptions> = {
  mechanism: true,
  username: true,
  password: true,
  oauthBearerProvider: true,
  authenticationProvider: true,
};

export const SASL_KEYS: readonly string[] = Object.keys(SASL);
