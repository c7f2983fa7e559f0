import { errorReasonOf, ownError } from '../../port/error-text.js';
import { AuthenticationError, ConnectionError } from '../../port/errors.js';

export interface BearerToken {
  readonly value: string;
  /** SASL extensions (KIP-342). */
  readonly extensions?: Readonly<Record<string, string>>;
}

export type TokenProvider = () => Promise<BearerToken>;

interface SaslExchange {
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

export interface SaslSettings {
  readonly mechanism: string;
  readonly oauthBearerProvider?: TokenProvider;
  readonly authenticationProvider?: AuthenticationProvider;
}

/** A custom mechanism, as kafkajs defines it. */
export type AuthenticationProvider = (exchange: SaslExchange) => { authenticate(): Promise<void> };

/**
 * Replaces the OAUTHBEARER provider of kafkajs by the one of this library, unless the user has set
 * a custom provider. The messages of a custom provider are left out, because they may quote its
 * credentials.
 */
export function saslForKafkajs(sasl: SaslSettings): SaslSettings {
  const { mechanism, oauthBearerProvider, authenticationProvider } = sasl;
  if (authenticationProvider !== undefined)
    return { ...sasl, authenticationProvider: withoutMessages(authenticationProvider) };
  if (mechanism.toUpperCase() !== 'OAUTHBEARER') return sasl;
  return { ...sasl, authenticationProvider: oauthBearer(oauthBearerProvider) };
}

/** Passes the broker's refusals on, and replaces all other errors of the provider. */
function withoutMessages(provider: AuthenticationProvider): AuthenticationProvider {
  return (exchange) => {
    const refusals = new Set<unknown>();
    const saslAuthenticate: SaslExchange['saslAuthenticate'] = async (message) => {
      try {
        return await exchange.saslAuthenticate(message);
      } catch (refusal) {
        refusals.add(refusal);
        throw refusal;
      }
    };
    return {
      async authenticate(): Promise<void> {
        try {
          await provider({ ...exchange, saslAuthenticate }).authenticate();
        } catch (error) {
          throw refusals.has(error) ? error : providerError(error);
        }
      },
    };
  };
}

function providerError(cause: unknown): Error {
  const message = `the authenticationProvider of the sasl options failed with ${errorReasonOf(cause)}`;
  return ownError(new Error(message), cause);
}

const SEPARATOR = '\u0001';

/**
 * The OAUTHBEARER provider (RFC 7628) of this library for kafkajs. The provider of kafkajs does not
 * read the response, with which a broker can refuse a token without an error code. All later
 * requests then fail as out of order.
 */
export function oauthBearer(provider: TokenProvider | undefined) {
  return ({ host, port, saslAuthenticate }: SaslExchange) => ({
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
 * Calls the token provider. If it throws, the error is retriable, because the token may be
 * available later. Only a broker can refuse credentials.
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
      `The oauthBearerProvider of the sasl options gave no token: ${errorReasonOf(error)}. The driver calls it again.`,
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
  // The GS2 header `n,,` means no channel binding and no authorization identity.
  return `n,,${SEPARATOR}${lines.join('')}${SEPARATOR}`;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
