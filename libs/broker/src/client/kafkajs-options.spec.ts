import { InvalidOptionError } from '../port/errors.js';
import { validateKafkajsOptions, type KafkajsOptions } from './kafkajs-options.js';

const settingsOf = (options: Partial<KafkajsOptions>) =>
  validateKafkajsOptions({ brokers: 'a:1', ...options });

describe('validateKafkajsOptions()', () => {
  it('returns the default of each missing option', () => {
    expect(settingsOf({})).toMatchObject({
      clientId: 'nest-event-bus',
      rackId: undefined,
      metadataMaxAgeMs: 10_000,
    });
  });

  it.each<Partial<KafkajsOptions>>([
    { metadataMaxAgeMs: 0 },
    { metadataMaxAgeMs: 1.5 },
    { rackId: '' },
  ])('rejects invalid values: %p', (options) => {
    expect(() => settingsOf(options)).toThrow(InvalidOptionError);
  });
});
