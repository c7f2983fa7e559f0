import { DURABLE_PRODUCER, GENERAL_PRODUCER } from './producer-profiles.js';
import { validateProducerOptions } from './validate-producer-options.js';

const capabilities = { compressions: ['none'] } as const;

describe('producer profiles', () => {
  it('DURABLE_PRODUCER retries for a long time and does not linger', () => {
    expect(DURABLE_PRODUCER).toEqual({
      idempotent: true,
      lingerMs: 0,
      deliveryTimeoutMs: 600_000,
    });
  });

  it('GENERAL_PRODUCER fills batches and answers in time', () => {
    expect(GENERAL_PRODUCER).toEqual({
      idempotent: true,
      batchBytes: 16_384,
      lingerMs: 5,
      bufferBytes: 33_554_432,
      compression: 'none',
      deliveryTimeoutMs: 30_000,
      requestTimeoutMs: 10_000,
    });
  });

  it.each([DURABLE_PRODUCER, GENERAL_PRODUCER])(
    'is accepted by validateProducerOptions: %j',
    (profile) => {
      expect(validateProducerOptions(profile, capabilities)).toMatchObject(profile);
      expect(Object.isFrozen(profile)).toBe(true);
    },
  );
});
