import { adviceOnFailure, adviceOnHangUp } from './connect-advice.js';

const failure = (code: string): Error => Object.assign(new Error('no'), { code });

describe('adviceOnFailure()', () => {
  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'ssl: { ca }'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'ssl: { ca }'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ssl: { ca }'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'ssl: { ca }'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'ssl: { servername }'],
    ['CERT_HAS_EXPIRED', 'renew it'],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'ssl: { cert, key }'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ssl: { cert, key }'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'leave ssl out'],
  ])('advises on %s: %s', (code, advice) => {
    expect(adviceOnFailure(failure(code), { ssl: {} })).toContain(advice);
  });

  it('returns nothing if the error message is clear enough', () => {
    expect(adviceOnFailure(failure('ECONNREFUSED'), { ssl: {} })).toBe('');
    expect(adviceOnFailure(new Error('Connection timeout'), {})).toBe('');
  });

  it.each([
    [{}, 'give ssl or sasl'],
    [{ sasl: {} }, 'give ssl as well'],
    [{ ssl: {} }, 'leave ssl out'],
  ])(
    'advises on the protocol if the listener closes the connection before any response: %j, %s',
    (secured, advice) => {
      expect(adviceOnFailure(failure('ECONNRESET'), secured)).toContain(advice);
      expect(adviceOnHangUp(secured)).toContain(advice);
    },
  );
});
