import type { SecuredListener } from '../security-options.js';

export const HOST = '127.0.0.1';

export interface BrokerPorts {
  readonly plain: number;
  readonly controller: number;
  /** The port of the broker behind its proxy, and the port of the proxy. */
  readonly proxied?: { readonly broker: number; readonly proxy: number };
  /** Ports by listener name. */
  readonly secured?: Readonly<Record<string, number>>;
}

/** Returns the listeners of the broker, and the addresses that it advertises. */
export function listenerSettings(
  ports: BrokerPorts,
  secured: Readonly<Record<string, SecuredListener>>,
): Record<string, string> {
  const at = (name: string, port: number): string => `${name}://${HOST}:${port}`;
  const plain = at('PLAINTEXT', ports.plain);
  const more = Object.entries(ports.secured ?? {}).map(([name, port]) => at(nameOf(name), port));
  const proxied = ports.proxied ? [at('PROXIED', ports.proxied.broker)] : [];
  const advertisedProxy = ports.proxied ? [at('PROXIED', ports.proxied.proxy)] : [];
  const protocols = Object.entries(secured).map(
    ([name, listener]) => `${nameOf(name)}:${protocolOf(listener)}`,
  );
  return {
    listeners: [plain, ...proxied, ...more, at('CONTROLLER', ports.controller)].join(),
    'advertised.listeners': [plain, ...advertisedProxy, ...more].join(),
    'listener.security.protocol.map': [
      'PLAINTEXT:PLAINTEXT',
      'PROXIED:PLAINTEXT',
      'CONTROLLER:PLAINTEXT',
      ...protocols,
    ].join(),
    'inter.broker.listener.name': 'PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
  };
}

const nameOf = (listener: string): string => listener.toUpperCase();

function protocolOf({ tls, sasl }: SecuredListener): string {
  if (sasl === undefined) return tls === undefined ? 'PLAINTEXT' : 'SSL';
  return tls === undefined ? 'SASL_PLAINTEXT' : 'SASL_SSL';
}
