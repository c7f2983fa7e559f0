import { AuthenticationError, ConnectionError } from '../../port/errors.js';

export interface BearerToken {
  readonly value: string;
  /** SASL extensions (KIP-342). */
  readonly extensions?: Readonly<Record<string, string>>;
}

export type TokenProvider = () => Promise<BearerToken>;

interface SaslSession {
  readonly host: string;
  readonly port: number;
  /** Sends the encoded request and returns the parsed response. */
  saslAuthenticate(message: {
    readonly request: { encode(): Promise<Buffer> };
    readonly response: {
      decode(answer: Buffer): Promise<Buffer>;
      parse(answer: Buffer): Promise<string>;
    };
  }): Promise<string>;
}

const SEPARATOR = '\u0001';

/**
 * Our OAUTHBEARER provider (RFC 7628) for kafkajs. kafkajs's own does not read the response, in
 * which a broker refuses a token without an error code. All later requests then failed as out of
 * order.
 */
export function oauthBearer(provider: TokenProvider | undefined) {
  return ({ host, port, saslAuthenticate }: SaslSession) => ({
    async authenticate(): Promise<void> {
      const token = await tokenOf(provider);
      const send = (text: string): Promise<string> =>
        saslAuthenticate({
          request: { encode: async () => withLength(text) },
          response: {
            decode: async (answer) => answer.subarray(4),
            parse: async (answer) => answer.toString(),
          },
        });
      const refusal = await send(clientResponse(token));
      if (refusal === '') return;
      throw new AuthenticationError(
        `${host}:${port} did not accept the token: ${refusal}. Check what the oauthBearerProvider of the sasl options gives: its issuer, its audience, and whether it has expired.`,
      );
    },
  });
}

/**
 * A provider that throws causes a retriable error, because the token may be available later. Only a
 * broker can refuse credentials.
 */
async function tokenOf(provider: TokenProvider | undefined): Promise<BearerToken> {
  if (typeof provider !== 'function')
    throw new AuthenticationError(
      'sasl has no oauthBearerProvider: OAUTHBEARER needs a function that gives { value: token }.',
    );
  let token: Partial<BearerToken> | undefined;
  try {
    token = await provider();
  } catch (error) {
    throw new ConnectionError(
      `The oauthBearerProvider of the sasl options gave no token: ${error instanceof Error ? error.message : String(error)}. The driver calls it again.`,
      { cause: error },
    );
  }
  if (typeof token?.value === 'string') return token as BearerToken;
  throw new AuthenticationError(
    'The oauthBearerProvider of the sasl options gave no token: it must resolve { value: token }.',
  );
}

function clientResponse({ value, extensions = {} }: BearerToken): string {
  const pairs = Object.entries({ auth: `Bearer ${value}`, ...extensions });
  const lines = pairs.map(([name, text]) => `${name}=${text}${SEPARATOR}`);
  // `n,,` is the GS2 header: no channel binding and no authorization identity.
  return `n,,${SEPARATOR}${lines.join('')}${SEPARATOR}`;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
