import { InvalidOptionError } from '../port/errors.js';
import { validateKafkajsOptions, type KafkajsOptions } from './kafkajs-options.js';

const settingsOf = (options: Partial<KafkajsOptions>) =>
  validateKafkajsOptions({ brokers: 'a:1', ...options });

describe('the options of the Kafka driver', () => {
  it('have defaults', () => {
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
  ])('are refused where they make no sense: %p', (options) => {
    expect(() => settingsOf(options)).toThrow(InvalidOptionError);
  });
});
