import { AuthenticationError, BrokerError, ConnectionError } from '../../port/errors.js';
import type { Runtime } from '../../runtime/index.js';
import { connectionReasonOf } from './connection-reason.js';
import type { KafkajsConnection } from './kafkajs-connection.js';

/**
 * The part of the session after which it is renewed, as in Java: 85 % to 95 %. The remaining time
 * allows for network delay and clock differences.
 */
const RENEWAL_POINT = { least: 0.85, random: 0.1 };

/**
 * The authentication of one connection. It is renewed before the broker's session expires
 * (KIP-368), because the broker would then close the connection at the next request.
 */
export class Reauthentication {
  /**
   * The time of the next authentication. kafkajs would renew 10 s early, and with short sessions
   * before every request.
   */
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
    // Setting null makes kafkajs authenticate again. It would otherwise skip the renewal, because
    // the current authentication is still valid.
    this.inner.authenticatedAt = null;
    try {
      await this.inner.authenticate();
    } catch (error) {
      throw this.#toBrokerError(error as Error);
    }
    this.#isRenewal = true;
    const sessionMs = this.inner.sessionLifetime.toNumber();
    const { least, random } = RENEWAL_POINT;
    const share = least + random * this.runtime.random();
    this.#dueAt = sessionMs > 0 ? this.runtime.monotonic() + sessionMs * share : Infinity;
  }

  #toBrokerError(error: Error): BrokerError {
    if (error instanceof ConnectionError) return error;
    // kafkajs reports "authentication failed" also if the broker closes the connection during the
    // authentication.
    if (!this.inner.isConnected())
      return new ConnectionError(
        `${this.address} closed the connection during the authentication: ${connectionReasonOf(error)}. Check the mechanism, the credentials and the log of the broker.`,
        { cause: error },
      );
    // A broker may refuse a renewal for reasons other than the credentials. A new connection shows
    // whether the credentials are valid.
    if (this.#isRenewal)
      return new ConnectionError(
        `${this.address} did not renew the authentication: ${connectionReasonOf(error)}. A new connection authenticates again; check the credentials if this repeats.`,
        { cause: error },
      );
    if (error instanceof BrokerError) return error;
    return new AuthenticationError(
      `${this.address} did not accept the credentials: ${connectionReasonOf(error)}. Check the sasl mechanism, user name and password (or what the provider gives), and that this listener of the broker offers the mechanism.`,
      { cause: error },
    );
  }
}
