import { AuthenticationError, ConnectionError, type BrokerDriver } from '@nest-event-bus/broker';
import type { KafkajsOptions } from '@nest-event-bus/broker/kafkajs';
import { eventually, TcpProxy, unique, type Certificates } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';
import {
  nothing,
  ownProvider,
  SecuredClients,
  unsecuredToken,
  USER,
  USERS,
  writeAndRead,
} from './secured-client.js';

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

type Access = Pick<KafkajsOptions, 'ssl' | 'sasl'>;
type Listener = keyof typeof security.listeners;

/** Calls of the admin are tried again until this is over. */
const impatient = { requestTimeoutMs: 500 };

const oauth = (value: unknown): Access => ({
  sasl: {
    mechanism: 'oauthbearer',
    oauthBearerProvider: async () => ({ value: value as string }),
  },
});

describeWithCluster('a secured cluster', { security }, (cluster) => {
  const clients = new SecuredClients(cluster);
  afterEach(() => clients.close());

  const certificates = (): Certificates => {
    const made = cluster().certificates;
    if (made === undefined) throw new Error('The cluster was asked for TLS.');
    return made;
  };
  const trusting = (): Access => ({ ssl: { ca: certificates().ca } });
  const known = (): Access => ({ ssl: { ca: certificates().ca, ...certificates().client } });

  describe('is written to and read from', () => {
    it.each<[string, Listener, () => Access]>([
      ['over TLS', 'tls', trusting],
      ['over mutual TLS', 'mutual', known],
      ['with PLAIN', 'plain', () => ({ sasl: { mechanism: 'plain', ...USER } })],
      [
        'with PLAIN over TLS',
        'plaintls',
        () => ({ ...trusting(), sasl: { mechanism: 'plain', ...USER } }),
      ],
      ['with SCRAM-SHA-256', 'scram256', () => ({ sasl: { mechanism: 'scram-sha-256', ...USER } })],
      [
        'with SCRAM-SHA-512 over TLS',
        'scram512',
        () => ({ ...trusting(), sasl: { mechanism: 'scram-sha-512', ...USER } }),
      ],
      ['with OAUTHBEARER', 'tokens', () => oauth(unsecuredToken())],
      ["with a provider of the user's own", 'plain', () => ({ sasl: ownProvider() })],
    ])('%s', async (_name, listener, access) => {
      expect(await writeAndRead(clients.driver(listener, access()))).toEqual(['a', 'b', 'c']);
    });
  });

  const reasonOf = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error('It was let in.'),
      (error: Error) => error,
    );

  /** What the three kinds of sessions say to a driver that is not let in. */
  async function refusals(driver: BrokerDriver): Promise<readonly Error[]> {
    const consumer = driver.consumer({ groupId: unique('refused'), topics: ['any'] });
    consumer.onStatus((status) => clients.hear(status));
    const listener = { onAssigned: nothing, onRevoked: nothing, onLost: nothing };
    return Promise.all([
      reasonOf(driver.admin().topics(['any'])),
      reasonOf(driver.producer().send([{ topic: 'any', value: 'v' }], { timeoutMs: 5_000 })),
      reasonOf(consumer.start(listener)),
    ]);
  }

  /** With everything that hangs on it. */
  const allOf = (error: unknown): string =>
    error instanceof Error
      ? `${error.stack} ${JSON.stringify(error)} ${allOf(error.cause)}`
      : String(error);

  describe('lets nobody in', () => {
    const SECRET = 'not-the-password';
    const stranger = { username: USER.username, password: SECRET };
    const expired = unsecuredToken(-30);

    it.each<[string, Listener, () => Access, string, RegExp]>([
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
        () => ({ ...trusting(), sasl: { mechanism: 'scram-sha-512', ...stranger } }),
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
        () => ({ sasl: ownProvider(stranger) }),
        SECRET,
        /Check the sasl mechanism/,
      ],
      [
        'with a token that has expired',
        'tokens',
        () => oauth(expired),
        expired,
        /invalid_token.*Check what the oauthBearerProvider .*whether it has expired/,
      ],
    ])('%s: an AuthenticationError that says what to do, and no secret', async (...each) => {
      const [, listener, access, secret, advice] = each;
      const errors = await refusals(clients.driver(listener, access()));
      const [ofAdmin, ofProducer, ofConsumer] = errors;
      expect(ofAdmin).toBeInstanceOf(AuthenticationError);
      expect(ofProducer?.cause).toBeInstanceOf(AuthenticationError);
      expect(ofConsumer).toBeInstanceOf(AuthenticationError);
      for (const error of errors) expect(allOf(error)).toMatch(advice);
      const everything = errors.map(allOf).join() + clients.said.join();
      expect(everything).not.toContain(secret);
      expect(everything).not.toContain(Buffer.from(secret).toString('base64'));
    });

    it.each<[string, Listener, () => Access, RegExp]>([
      ['whose authority is not known', 'tls', () => ({ ssl: true }), /give .*ssl: \{ ca \}/],
      [
        'that is for another name',
        'tls',
        () => ({ ssl: { ca: certificates().ca, servername: 'kafka.example' } }),
        /kafka\.example.*ssl: \{ servername \}/,
      ],
    ])(
      'by a certificate %s: the error says what to do',
      async (_name, listener, access, advice) => {
        const driver = clients.driver(listener, { ...access(), ...impatient });
        const error = await reasonOf(driver.admin().topics(['any']));
        expect(error).toBeInstanceOf(ConnectionError);
        expect(error.message).toMatch(advice);
      },
    );

    it.each<[string, Listener, () => Access, RegExp]>([
      ['without the certificate it wants', 'mutual', trusting, /ssl: \{ cert, key \}/],
      ['that does not speak TLS where it must', 'tls', () => ({}), /give ssl or sasl/],
      ['that speaks TLS where nobody does', 'plain', trusting, /leave ssl out/],
      ['that does not say who it is', 'plain', () => ({}), /give ssl or sasl/],
    ])('%s: the error says what to do', async (_name, listener, access, advice) => {
      const driver = clients.driver(listener, { ...access(), ...impatient });
      const error = await reasonOf(driver.admin().topics(['any']));
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error.message).toMatch(advice);
    });
  });

  it('waits for a token endpoint that is down, and goes on with its first token', async () => {
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
    consumer.onStatus((status) => clients.hear(status));
    consumer.start({ onAssigned: nothing, onRevoked: nothing, onLost: nothing }).catch(nothing);
    await eventually(() => clients.said.some((each) => /503 from the issuer/.test(each)));
    expect(consumer.status.state).toBe('retrying');
    isDown = false;
    expect(await writeAndRead(driver)).toEqual(['a', 'b', 'c']);
  });

  it('that hangs up in the middle of an authentication has refused nothing', async () => {
    const [target = ''] = cluster().securedBrokers['plain'] ?? [];
    const proxy = new TcpProxy({ target });
    await proxy.accept();
    const sasl = ownProvider(USER, () => proxy.cut());
    const driver = clients.at([proxy.address], { sasl, ...impatient });
    const error = await reasonOf(driver.admin().topics(['any']));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toContain('closed the connection during the authentication');
    await proxy.close();
  });
});
