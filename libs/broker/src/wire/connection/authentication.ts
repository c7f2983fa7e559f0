import { AuthenticationError, BrokerError, ConnectionError } from '../../port/errors.js';
import type { Runtime } from '../../runtime/index.js';
import { oauthBearer, type TokenProvider } from './oauth-bearer.js';
import type { KafkajsConnection } from './kafkajs-connection.js';

export interface SaslSettings {
  readonly mechanism: string;
  readonly oauthBearerProvider?: TokenProvider;
  readonly authenticationProvider?: unknown;
}

/** As Java: part of the session is left for the way to the broker and for clocks that differ. */
const SHARE_OF_SESSION = { least: 0.85, random: 0.1 };

/** Our own provider where kafkajs's is wrong, unless the user brings one. */
export function saslForKafkajs(sasl: SaslSettings): SaslSettings {
  const { mechanism, oauthBearerProvider, authenticationProvider } = sasl;
  if (authenticationProvider !== undefined || mechanism.toUpperCase() !== 'OAUTHBEARER')
    return sasl;
  return { ...sasl, authenticationProvider: oauthBearer(oauthBearerProvider) };
}

/**
 * The authentication of one connection, done again before the broker's session ends (KIP-368):
 * a broker cuts off whoever asks for anything else after that.
 */
export class Authentication {
  /** When the next one is due. Times are ours: kafkajs begins 10 s early, with short sessions before every request. */
  #dueAt = -Infinity;
  #isRenewal = false;

  constructor(
    private readonly inner: KafkajsConnection,
    private readonly address: string,
    private readonly runtime: Runtime,
  ) {}

  get isDue(): boolean {
    return this.runtime.monotonic() >= this.#dueAt;
  }

  async perform(): Promise<void> {
    this.inner.authenticatedAt = null;
    try {
      await this.inner.authenticate();
    } catch (error) {
      throw this.#translate(error as Error);
    }
    this.#isRenewal = true;
    const sessionMs = this.inner.sessionLifetime.toNumber();
    const { least, random } = SHARE_OF_SESSION;
    const share = least + random * this.runtime.random();
    this.#dueAt = sessionMs > 0 ? this.runtime.monotonic() + sessionMs * share : Infinity;
  }

  #translate(error: Error): BrokerError {
    if (error instanceof ConnectionError) return error;
    // kafkajs says "authentication failed" of a broker that goes away in the middle of it as well.
    if (!this.inner.isConnected())
      return new ConnectionError(
        `${this.address} closed the connection during the authentication: ${error.message}.`,
        { cause: error },
      );
    // Brokers refuse to renew for reasons that say nothing of the credentials; a new connection shows what they are worth.
    if (this.#isRenewal)
      return new ConnectionError(
        `${this.address} did not renew the authentication: ${error.message}. A new connection authenticates anew.`,
        { cause: error },
      );
    if (error instanceof BrokerError) return error;
    return new AuthenticationError(
      `${this.address} did not accept the credentials: ${error.message}. Check the sasl mechanism, user name and password (or what the provider gives), and that this listener of the broker offers the mechanism.`,
      { cause: error },
    );
  }
}
