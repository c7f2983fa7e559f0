import type { SaslMechanism, SecuredListener, SecurityOptions } from '../security-options.js';
import { wantsTls } from '../security-options.js';
import { certificateSettings } from './certificates.js';

type Users = Readonly<Record<string, string>>;

const PACKAGE = 'org.apache.kafka.common.security';
const SCRAM_MODULE = `${PACKAGE}.scram.ScramLoginModule`;

/** The JAAS configuration of Kafka's Java modules, by mechanism. */
const MODULES: Readonly<Record<SaslMechanism, (users: Users) => string>> = {
  PLAIN: (users) => jaas(`${PACKAGE}.plain.PlainLoginModule`, plainUsers(users)),
  'SCRAM-SHA-256': () => jaas(SCRAM_MODULE),
  'SCRAM-SHA-512': () => jaas(SCRAM_MODULE),
  OAUTHBEARER: () =>
    jaas(`${PACKAGE}.oauthbearer.OAuthBearerLoginModule`, {
      unsecuredLoginStringClaim_sub: 'broker',
    }),
};

/** Clients of the plain listener, including the brokers themselves, have all permissions. */
const AUTHORIZER = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
};

export function securitySettings(
  security: SecurityOptions,
  certificateFolder: string,
): Record<string, string> {
  const listeners = Object.entries(security.listeners);
  return Object.assign(
    {},
    wantsTls(security) ? certificateSettings(certificateFolder) : {},
    security.authorizer ? AUTHORIZER : {},
    ...listeners.map(([name, listener]) => listenerSecurity(name, listener, security.users ?? {})),
  );
}

/**
 * Returns SCRAM users for the storage tool, because they are stored in the cluster's metadata
 * before its first start.
 */
export function scramUsers({ listeners, users = {} }: SecurityOptions): string[] {
  const mechanisms = new Set(Object.values(listeners).flatMap(({ sasl }) => sasl ?? []));
  return [...mechanisms]
    .filter((mechanism) => mechanism.startsWith('SCRAM'))
    .flatMap((mechanism) =>
      Object.entries(users).map(
        ([name, password]) => `${mechanism}=[name=${name},password=${password}]`,
      ),
    );
}

function listenerSecurity(
  name: string,
  listener: SecuredListener,
  users: Users,
): Record<string, string> {
  const { tls, sasl, maxReauthMs } = listener;
  const prefix = `listener.name.${name.toLowerCase()}`;
  const own = `${prefix}.${sasl?.toLowerCase()}`;
  return {
    ...(tls === 'mutual' ? { [`${prefix}.ssl.client.auth`]: 'required' } : {}),
    ...(sasl === undefined
      ? {}
      : {
          [`${prefix}.sasl.enabled.mechanisms`]: sasl,
          [`${own}.sasl.jaas.config`]: MODULES[sasl](users),
          [`${own}.connections.max.reauth.ms`]: String(maxReauthMs ?? 0),
        }),
  };
}

function plainUsers(users: Users): Record<string, string> {
  return Object.fromEntries(
    Object.entries(users).map(([name, password]) => [`user_${name}`, password]),
  );
}

function jaas(module: string, options: Readonly<Record<string, string>> = {}): string {
  const quoted = Object.entries(options).map(([name, value]) => ` ${name}="${value}"`);
  return `${module} required${quoted.join('')};`;
}
