import { InvalidOptionError } from '../port/errors.js';
import { validateSaslOptions, type SaslOptions } from './sasl-mechanisms.js';

const SECRET = 'hunter2';
const provider = (): never => {
  throw new Error('not called');
};

describe('validateSaslOptions()', () => {
  it.each<SaslOptions>([
    { mechanism: 'plain', username: 'u', password: SECRET },
    { mechanism: 'scram-sha-256', username: 'u', password: SECRET },
    { mechanism: 'SCRAM-SHA-512', username: 'u', password: SECRET },
    { mechanism: 'oauthbearer', oauthBearerProvider: provider },
    { mechanism: 'x-token', authenticationProvider: provider },
    { mechanism: 'plain', authenticationProvider: provider },
  ])('returns a copy of valid options: %p', (sasl) => {
    expect(validateSaslOptions(sasl)).toEqual(sasl);
    expect(validateSaslOptions(sasl)).not.toBe(sasl);
  });

  it.each<[string, object]>([
    ['sasl.mechanism', { username: 'u', password: SECRET }],
    ['sasl.username', { mechanism: 'plain', password: SECRET }],
    ['sasl.password', { mechanism: 'plain', username: 'u', passwort: SECRET }],
    ['sasl.password', { mechanism: 'scram-sha-512', username: 'u', password: '' }],
    ['sasl.password', { mechanism: 'scram-sha-256', username: 'u', password: { is: SECRET } }],
    ['sasl.oauthBearerProvider', { mechanism: 'oauthbearer', value: SECRET }],
    ['sasl.authenticationProvider', { mechanism: 'x-token', password: SECRET }],
    [
      'sasl.authenticationProvider',
      { mechanism: 'plain', authenticationProvider: SECRET, username: 'u', password: SECRET },
    ],
  ])('rejects a missing or invalid %s, and never repeats a value', (key, sasl) => {
    const attempt = (): unknown => validateSaslOptions(sasl as SaslOptions);
    expect(attempt).toThrow(InvalidOptionError);
    expect(attempt).toThrow(key);
    expect(attempt).not.toThrow(SECRET);
  });
});
