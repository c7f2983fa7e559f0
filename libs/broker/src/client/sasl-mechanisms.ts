import { InvalidOptionError } from '../port/errors.js';
import type { BearerToken } from '../wire/index.js';

export type { BearerToken };

/** The name of a mechanism in lower or upper case, both of which kafkajs accepts. */
type MechanismName<Name extends string> = Name | Uppercase<Name>;

/**
 * The SASL credentials. A custom mechanism needs an `authenticationProvider` as kafkajs defines it.
 */
export type SaslOptions =
  | {
      readonly mechanism: MechanismName<'plain' | 'scram-sha-256' | 'scram-sha-512'>;
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: MechanismName<'oauthbearer'>;
      /**
       * Called for each authentication. The provider should cache its token until the token
       * expires.
       */
      readonly oauthBearerProvider: () => Promise<BearerToken>;
    }
  | {
      readonly mechanism: string;
      readonly authenticationProvider: (arguments_: unknown) => {
        authenticate(): Promise<void>;
      };
    };

/** The required keys of each mechanism. With an `authenticationProvider` none of them is required. */
const REQUIRED_KEYS: Readonly<Record<string, readonly (readonly [key: string, type: string])[]>> = {
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

const CUSTOM_PROVIDER_KEYS = [['authenticationProvider', 'function']] as const;

/**
 * Rejects options that can only fail. The messages contain keys and never values, so that no secret
 * is logged. Returns a copy, because kafkajs writes into its options.
 */
export function validateSaslOptions(sasl: SaslOptions): SaslOptions {
  const given: Readonly<Record<string, unknown>> = { ...sasl };
  const { mechanism } = given;
  if (typeof mechanism !== 'string' || mechanism === '')
    throw new InvalidOptionError(
      "sasl.mechanism is missing. Name 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', or one of your own with an authenticationProvider.",
    );
  const known =
    given['authenticationProvider'] === undefined && REQUIRED_KEYS[mechanism.toUpperCase()];
  for (const [key, type] of known || CUSTOM_PROVIDER_KEYS)
    if (typeof given[key] !== type || given[key] === '')
      throw new InvalidOptionError(`sasl.${key} must be a ${type}: "${mechanism}" needs it.`);
  return { ...sasl };
}
