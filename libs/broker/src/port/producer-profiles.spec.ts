import { DURABLE_PRODUCER, GENERAL_PRODUCER } from './producer-profiles.js';
import { validateProducerOptions } from './validate-producer-options.js';

const capabilities = { compressions: ['none'] } as const;

describe('The profile of a producer', () => {
  it('durable is patient and waits for no company', () => {
    expect(DURABLE_PRODUCER).toEqual({
      idempotent: true,
      lingerMs: 0,
      deliveryTimeoutMs: 600_000,
    });
  });

  it('general gathers batches, and answers in time', () => {
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

  it.each([DURABLE_PRODUCER, GENERAL_PRODUCER])('is one that a driver takes', (profile) => {
    expect(validateProducerOptions(profile, capabilities)).toMatchObject(profile);
    expect(Object.isFrozen(profile)).toBe(true);
  });
});
