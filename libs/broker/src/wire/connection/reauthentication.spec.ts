import { AuthenticationError, ConnectionError } from '../../port/errors.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { Reauthentication } from './reauthentication.js';
import type { KafkajsConnection } from './kafkajs-connection.js';

const ADDRESS = 'kafka-1:9092';

/** The part of kafkajs's connection that the authentication uses, with a scripted broker. */
class ScriptedConnection {
  authenticatedAt: unknown = 'before';
  sessionLifetime = { toNumber: () => this.sessionMs };
  sessionMs = 0;
  times = 0;
  refusal: Error | undefined;
  connected = true;

  async authenticate(): Promise<void> {
    if (this.authenticatedAt !== null) return;
    this.times++;
    if (this.refusal) throw this.refusal;
    this.authenticatedAt = 'now';
  }

  isConnected(): boolean {
    return this.connected;
  }
}

describe('Reauthentication', () => {
  let inner: ScriptedConnection;
  let runtime: VirtualRuntime;
  let authentication: Reauthentication;

  beforeEach(() => {
    inner = new ScriptedConnection();
    runtime = new VirtualRuntime();
    const given = inner as unknown as KafkajsConnection;
    authentication = new Reauthentication(given, ADDRESS, runtime);
  });

  const performing = (): Promise<unknown> =>
    authentication.perform().catch((error: unknown) => error);

  it('is due before the first request, and never again if the session does not expire', async () => {
    expect(authentication.isDue).toBe(true);
    await authentication.perform();
    await runtime.advance(10 * 365 * 86_400_000);
    expect(authentication.isDue).toBe(false);
  });

  it.each([
    [0, 850],
    [1, 950],
  ])(
    'is due again before the session expires (random %d: after %d of 1,000 ms)',
    async (chance, at) => {
      jest.spyOn(runtime, 'random').mockReturnValue(chance);
      inner.sessionMs = 1_000;
      await authentication.perform();
      await runtime.advance(at - 1);
      expect(authentication.isDue).toBe(false);
      await runtime.advance(1);
      expect(authentication.isDue).toBe(true);
      await authentication.perform();
      expect(inner.times).toBe(2);
      expect(authentication.isDue).toBe(false);
    },
  );

  it('rejects refused credentials with advice', async () => {
    const message = 'SASL PLAIN authentication failed: Invalid username or password';
    inner.refusal = Object.assign(new Error(message), { name: 'KafkaJSSASLAuthenticationError' });
    const error = await performing();
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(String(error)).toMatch(/kafka-1:9092 .*Invalid username.* Check the sasl mechanism/);
  });

  it('rejects with a retriable error if the broker closes the connection during the authentication', async () => {
    inner.refusal = new Error('SASL PLAIN authentication failed: Closed connection');
    inner.connected = false;
    expect(await performing()).toBeInstanceOf(ConnectionError);
  });

  it('rejects a failed renewal with a retriable error, because a new connection then shows if the credentials are valid', async () => {
    await authentication.perform();
    inner.refusal = new Error('Illegal SASL state');
    expect(await performing()).toBeInstanceOf(ConnectionError);
    inner.refusal = new AuthenticationError('The token has expired.');
    expect(await performing()).toBeInstanceOf(ConnectionError);
  });

  it('rejects with a retriable error if the provider returns no token, also at a renewal', async () => {
    inner.refusal = new ConnectionError('The token endpoint is down.');
    expect(await performing()).toBe(inner.refusal);
  });
});
