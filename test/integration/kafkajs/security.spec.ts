import { AuthenticationError, ConnectionError, type BrokerDriver } from '@nest-event-bus/broker';
import type { KafkajsOptions } from '@nest-event-bus/broker/kafkajs';
import { eventually, TcpProxy, unique, type Certificates } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import {
  ignore,
  customPlainProvider,
  SecuredClients,
  unsecuredToken,
  USER,
  USERS,
  writeAndRead,
} from './secured-clients.js';

const security = {
  users: USERS,
  listeners: {
    tls: { tls: 'server' },
    mutual: { tls: 'mutual' },
    plain: { sasl: 'PLAIN' },
    plaintls: { sasl: 'PLAIN', tls: 'server' },
    scram256: { sasl: 'SCRAM-SHA-256' },
    scram512: { sasl: 'SCRAM-SHA-512', tls: 'server' },
    tokens: { sasl: 'OAUTHBEARER' },
  },
} as const;

type SecurityOptions = Pick<KafkajsOptions, 'ssl' | 'sasl'>;
type Listener = keyof typeof security.listeners;

/** Admin calls retry a lost connection until this timeout. */
const SHORT_TIMEOUT = { requestTimeoutMs: 500 };

const oauthBearer = (value: unknown): SecurityOptions => ({
  sasl: {
    mechanism: 'oauthbearer',
    oauthBearerProvider: async () => ({ value: value as string }),
  },
});

describeWithCluster('secured cluster', { security }, (cluster) => {
  const clients = new SecuredClients(cluster);
  afterEach(() => clients.close());

  const certificates = (): Certificates => {
    const made = cluster().certificates;
    if (made === undefined) throw new Error('The cluster has no certificates.');
    return made;
  };
  const serverTls = (): SecurityOptions => ({ ssl: { ca: certificates().ca } });
  const mutualTls = (): SecurityOptions => ({
    ssl: { ca: certificates().ca, ...certificates().client },
  });

  describe('a connection that the cluster accepts', () => {
    it.each<[string, Listener, () => SecurityOptions]>([
      ['over TLS', 'tls', serverTls],
      ['over mutual TLS', 'mutual', mutualTls],
      ['with PLAIN', 'plain', () => ({ sasl: { mechanism: 'plain', ...USER } })],
      [
        'with PLAIN over TLS',
        'plaintls',
        () => ({ ...serverTls(), sasl: { mechanism: 'plain', ...USER } }),
      ],
      ['with SCRAM-SHA-256', 'scram256', () => ({ sasl: { mechanism: 'scram-sha-256', ...USER } })],
      [
        'with SCRAM-SHA-512 over TLS',
        'scram512',
        () => ({ ...serverTls(), sasl: { mechanism: 'scram-sha-512', ...USER } }),
      ],
      ['with OAUTHBEARER', 'tokens', () => oauthBearer(unsecuredToken())],
      ["with a provider of the user's own", 'plain', () => ({ sasl: customPlainProvider() })],
    ])('writes and reads %s', async (_name, listener, access) => {
      expect(await writeAndRead(clients.driver(listener, access()))).toEqual(['a', 'b', 'c']);
    });
  });

  const errorOf = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error('The client was accepted.'),
      (error: Error) => error,
    );

  /** Returns the errors of an admin, a producer and a consumer that the cluster refuses. */
  async function refusals(driver: BrokerDriver): Promise<readonly Error[]> {
    const consumer = driver.consumer({ groupId: unique('refused'), topics: ['any'] });
    consumer.onStatus((status) => clients.recordStatus(status));
    const listener = { onAssigned: ignore, onRevoked: ignore, onLost: ignore };
    return Promise.all([
      errorOf(driver.admin().topics(['any'])),
      errorOf(driver.producer().send([{ topic: 'any', value: 'v' }], { timeoutMs: 5_000 })),
      errorOf(consumer.start(listener)),
    ]);
  }

  /** Returns the error as text, with all its causes. */
  const errorText = (error: unknown): string =>
    error instanceof Error
      ? `${error.stack} ${JSON.stringify(error)} ${errorText(error.cause)}`
      : String(error);

  describe('a connection that the cluster refuses', () => {
    const SECRET = 'not-the-password';
    const stranger = { username: USER.username, password: SECRET };
    const expired = unsecuredToken(-30);

    it.each<[string, Listener, () => SecurityOptions, string, RegExp]>([
      [
        'with a wrong password (PLAIN)',
        'plain',
        () => ({ sasl: { mechanism: 'plain', ...stranger } }),
        SECRET,
        /Check the sasl mechanism, user name and password/,
      ],
      [
        'with a wrong password (SCRAM)',
        'scram512',
        () => ({ ...serverTls(), sasl: { mechanism: 'scram-sha-512', ...stranger } }),
        SECRET,
        /Check the sasl mechanism, user name and password/,
      ],
      [
        'with a mechanism that the listener does not offer',
        'plain',
        () => ({ sasl: { mechanism: 'scram-sha-256', ...USER } }),
        USER.password,
        /this listener of the broker offers the mechanism/,
      ],
      [
        "with a wrong password in a provider of the user's own",
        'plain',
        () => ({ sasl: customPlainProvider(stranger) }),
        SECRET,
        /Check the sasl mechanism/,
      ],
      [
        'with a token that has expired',
        'tokens',
        () => oauthBearer(expired),
        expired,
        /invalid_token.*Check what the oauthBearerProvider .*whether it has expired/,
      ],
    ])(
      'rejects a client %s with advice and without secrets (AuthenticationError)',
      async (...each) => {
        const [, listener, access, secret, advice] = each;
        const errors = await refusals(clients.driver(listener, access()));
        const [ofAdmin, ofProducer, ofConsumer] = errors;
        expect(ofAdmin).toBeInstanceOf(AuthenticationError);
        expect(ofProducer?.cause).toBeInstanceOf(AuthenticationError);
        expect(ofConsumer).toBeInstanceOf(AuthenticationError);
        for (const error of errors) expect(errorText(error)).toMatch(advice);
        const everything = errors.map(errorText).join() + clients.logged.join();
        expect(everything).not.toContain(secret);
        expect(everything).not.toContain(Buffer.from(secret).toString('base64'));
      },
    );

    it.each<[string, Listener, () => SecurityOptions, RegExp]>([
      ['of an unknown authority', 'tls', () => ({ ssl: true }), /give .*ssl: \{ ca \}/],
      [
        'for another name',
        'tls',
        () => ({ ssl: { ca: certificates().ca, servername: 'kafka.example' } }),
        /kafka\.example.*ssl: \{ servername \}/,
      ],
    ])('rejects a certificate %s with advice', async (_name, listener, access, advice) => {
      const driver = clients.driver(listener, { ...access(), ...SHORT_TIMEOUT });
      const error = await errorOf(driver.admin().topics(['any']));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error.message).toMatch(advice);
    });

    it.each<[string, Listener, () => SecurityOptions, RegExp]>([
      [
        'without a certificate on a mutual TLS listener',
        'mutual',
        serverTls,
        /ssl: \{ cert, key \}/,
      ],
      ['without TLS on a TLS listener', 'tls', () => ({}), /give ssl or sasl/],
      ['with TLS on a listener without TLS', 'plain', serverTls, /leave ssl out/],
      ['without credentials on a SASL listener', 'plain', () => ({}), /give ssl or sasl/],
    ])('rejects a client %s with advice', async (_name, listener, access, advice) => {
      const driver = clients.driver(listener, { ...access(), ...SHORT_TIMEOUT });
      const error = await errorOf(driver.admin().topics(['any']));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error.message).toMatch(advice);
    });
  });

  it('lets a client wait while the token provider fails, and continue with the first token', async () => {
    let isDown = true;
    const driver = clients.driver('tokens', {
      sasl: {
        mechanism: 'oauthbearer',
        oauthBearerProvider: async () => {
          if (isDown) throw new Error('503 from the issuer');
          return { value: unsecuredToken() };
        },
      },
    });
    const consumer = driver.consumer({ groupId: unique('early'), topics: ['any'] });
    consumer.onStatus((status) => clients.recordStatus(status));
    consumer.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore }).catch(ignore);
    await eventually(() => clients.logged.some((each) => /gave no token: Error/.test(each)));
    expect(consumer.status.state).toBe('retrying');
    isDown = false;
    expect(await writeAndRead(driver)).toEqual(['a', 'b', 'c']);
  });

  it('causes a retriable error if it closes the connection during the authentication', async () => {
    const [target = ''] = cluster().securedBrokers['plain'] ?? [];
    const proxy = new TcpProxy({ target });
    await proxy.accept();
    const sasl = customPlainProvider(USER, () => proxy.cut());
    const driver = clients.driverAt([proxy.address], { sasl, ...SHORT_TIMEOUT });
    const error = await errorOf(driver.admin().topics(['any']));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toContain('closed the connection during the authentication');
    await proxy.close();
  });
});
