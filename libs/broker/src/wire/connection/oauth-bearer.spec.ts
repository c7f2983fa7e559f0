import { inspect } from 'node:util';
import { AuthenticationError, ConnectionError } from '../../port/errors.js';
import {
  oauthBearer,
  saslForKafkajs,
  type AuthenticationProvider,
  type BearerToken,
} from './oauth-bearer.js';

const SECRET = 'header.claims.signature';

/**
 * Creates a broker with the response `answer` in the format of SaslAuthenticate: four bytes of
 * length before the text.
 */
function brokerAnswering(answer: string) {
  const received: string[] = [];
  type Exchange = Parameters<ReturnType<typeof oauthBearer>>[0];
  const saslAuthenticate: Exchange['saslAuthenticate'] = async ({ request, response }) => {
    const sent = await request.encode();
    expect(sent.readInt32BE(0)).toBe(sent.length - 4);
    received.push(sent.subarray(4).toString());
    const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from(answer)]);
    return response.parse(await response.decode(bytes));
  };
  return { received, exchange: { host: 'kafka-1', port: 9092, saslAuthenticate } };
}

const authenticate = (provider: unknown, answer = '') => {
  const { received, exchange } = brokerAnswering(answer);
  const work = oauthBearer(provider as () => Promise<BearerToken>)(exchange).authenticate();
  return {
    received,
    ended: work.then(
      () => 'accepted',
      (error: Error) => error,
    ),
  };
};

describe('oauthBearer()', () => {
  it('sends the token as RFC 7628 defines it', async () => {
    const { received, ended } = authenticate(async () => ({ value: SECRET }));
    expect(await ended).toBe('accepted');
    expect(received).toEqual([`n,,\u0001auth=Bearer ${SECRET}\u0001\u0001`]);
  });

  it('sends extensions after the token', async () => {
    const extensions = { logicalCluster: 'lkc-1', identityPoolId: 'pool-2' };
    const { received, ended } = authenticate(async () => ({ value: SECRET, extensions }));
    expect(await ended).toBe('accepted');
    expect(received[0]).toBe(
      `n,,\u0001auth=Bearer ${SECRET}\u0001logicalCluster=lkc-1\u0001identityPoolId=pool-2\u0001\u0001`,
    );
  });

  it('reads a refusal without an error code, and does not contain the token in the error', async () => {
    const { ended } = authenticate(async () => ({ value: SECRET }), '{"status":"invalid_token"}');
    const error = await ended;
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(String(error)).toMatch(/invalid_token.*Check what the oauthBearerProvider/);
    expect(String(error)).not.toContain(SECRET);
  });

  it('reports a provider that throws as a retriable error, not as refused credentials', async () => {
    const cause = Object.assign(new Error(`503 for ${SECRET}`), { code: 'ISSUER_DOWN' });
    const { ended } = authenticate(async () => Promise.reject(cause));
    const error = await ended;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ cause });
    expect(String(error)).toContain('gave no token: Error ISSUER_DOWN.');
    expect(inspect(error)).not.toContain(SECRET);
  });

  it.each([
    ['no function', undefined],
    ['nothing', async () => undefined],
    ['a bare text', async () => SECRET],
    ['no value', async () => ({ value: undefined })],
  ])(
    'rejects with advice if the provider is missing or returns no token: %s',
    async (_name, provider) => {
      const error = await authenticate(provider).ended;
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(String(error)).toContain('{ value: token }');
      expect(String(error)).not.toContain(SECRET);
    },
  );
});

describe('saslForKafkajs()', () => {
  it.each(['oauthbearer', 'OAUTHBEARER'])(
    'adds the provider of this library for %s',
    (mechanism) => {
      expect(saslForKafkajs({ mechanism }).authenticationProvider).toBeInstanceOf(Function);
    },
  );

  it('leaves other options unchanged', () => {
    const sasl = { mechanism: 'scram-sha-512', username: 'u', password: 'p' };
    expect(saslForKafkajs(sasl)).toBe(sasl);
  });

  describe('with an authenticationProvider', () => {
    const { exchange } = brokerAnswering('');
    const errorOf = async (provider: AuthenticationProvider, given = exchange) => {
      const sasl = { mechanism: 'custom', authenticationProvider: provider };
      const { authenticationProvider } = saslForKafkajs(sasl);
      return authenticationProvider!(given)
        .authenticate()
        .then(
          () => undefined,
          (error: Error) => error,
        );
    };

    it('calls it with the exchange', async () => {
      const provider = jest.fn(() => ({ authenticate: async () => undefined }));
      expect(await errorOf(provider)).toBeUndefined();
      expect(provider).toHaveBeenCalledWith(
        expect.objectContaining({ host: 'kafka-1', port: 9092 }),
      );
    });

    it.each<[string, AuthenticationProvider]>([
      [
        'throws',
        () => {
          throw new TypeError(SECRET);
        },
      ],
      ['rejects', () => ({ authenticate: async () => Promise.reject(new TypeError(SECRET)) })],
    ])('leaves out its message if it %s', async (_, provider) => {
      const error = await errorOf(provider);
      expect(error?.message).toBe(
        'the authenticationProvider of the sasl options failed with TypeError',
      );
      expect(error?.cause).toBeInstanceOf(TypeError);
      expect(inspect(error)).not.toContain(SECRET);
    });

    it('passes the refusal of the broker on', async () => {
      const refusal = new Error('SASL authentication failed');
      const saslAuthenticate = async () => Promise.reject(refusal);
      const provider: AuthenticationProvider = (given) => ({
        authenticate: async () => void (await given.saslAuthenticate({} as never)),
      });
      expect(await errorOf(provider, { ...exchange, saslAuthenticate })).toBe(refusal);
    });
  });
});
