import { InvalidOptionError } from '../port/errors.js';
import type { BearerToken } from '../wire/index.js';

/** How to authenticate; a custom mechanism brings `authenticationProvider` as kafkajs defines it. */
export type SaslOptions =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: 'oauthbearer';
      /** Asked for each authentication: it should keep its token until that expires. */
      readonly oauthBearerProvider: () => Promise<BearerToken>;
    }
  | {
      readonly mechanism: string;
      readonly authenticationProvider: (arguments_: unknown) => {
        authenticate(): Promise<void>;
      };
    };

/** By mechanism: what it needs. Whoever brings a provider of his own needs nothing else. */
const NEEDS: Readonly<Record<string, readonly (readonly [key: string, type: string])[]>> = {
  PLAIN: [
    ['username', 'string'],
    ['password', 'string'],
  ],
  'SCRAM-SHA-256': [
    ['username', 'string'],
    ['password', 'string'],
  ],
  'SCRAM-SHA-512': [
    ['username', 'string'],
    ['password', 'string'],
  ],
  OAUTHBEARER: [['oauthBearerProvider', 'function']],
};

const OWN_PROVIDER = [['authenticationProvider', 'function']] as const;

/**
 * What can only fail is refused at once, in words that name keys and never values. Gives a copy,
 * because kafkajs writes into its own.
 */
export function validateSaslOptions(sasl: SaslOptions): SaslOptions {
  const given: Readonly<Record<string, unknown>> = { ...sasl };
  const { mechanism } = given;
  if (typeof mechanism !== 'string' || mechanism === '')
    throw new InvalidOptionError(
      "sasl.mechanism is missing: 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', or one of your own with an authenticationProvider.",
    );
  const known = given['authenticationProvider'] === undefined && NEEDS[mechanism.toUpperCase()];
  for (const [key, type] of known || OWN_PROVIDER)
    if (typeof given[key] !== type || given[key] === '')
      throw new InvalidOptionError(`sasl.${key} must be a ${type}: "${mechanism}" needs it.`);
  return { ...sasl };
}
