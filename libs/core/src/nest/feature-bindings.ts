import type { OnApplicationBootstrap } from '@nestjs/common';
import type { FeatureProperties } from '../config/properties/feature-properties.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';

/** What one `EventBusModule.forFeature` brings. The bus finds all of them by this class. */
export class FeatureBindings implements OnApplicationBootstrap {
  #isClaimed = false;

  /** As they were given: the bus reads them with its own options. */
  constructor(readonly options: FeatureProperties) {}

  /** A bus has read them. */
  claim(): void {
    this.#isClaimed = true;
  }

  /** Without a bus nobody would ever read these topics, and nobody would notice. */
  onApplicationBootstrap(): void {
    if (this.#isClaimed) return;
    throw withoutRoot(
      'EventBusModule.forFeature',
      'brings bindings or consumers, but there is no event bus to run them.',
    );
  }
}

export function withoutRoot(path: string, what: string): ConfigurationValidationException {
  const message = `${what} Import EventBusModule.forRoot in the root module.`;
  return new ConfigurationValidationException([
    { rule: 'NO_ROOT', binding: undefined, path, value: undefined, message },
  ]);
}
