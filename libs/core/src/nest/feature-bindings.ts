import type { OnApplicationBootstrap } from '@nestjs/common';
import type { FeatureProperties } from '../config/properties/feature-properties.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';

/** The bindings of one `EventBusModule.forFeature`. The bus finds the features by this class. */
export class FeatureBindings implements OnApplicationBootstrap {
  #isClaimed = false;

  /** Takes the options unread: the bus validates them together with its own. */
  constructor(readonly options: FeatureProperties) {}

  /** Marks the bindings as read by a bus. */
  claim(): void {
    this.#isClaimed = true;
  }

  /** Throws if no bus has read the bindings, because their topics would silently not be consumed. */
  onApplicationBootstrap(): void {
    if (this.#isClaimed) return;
    throw missingRoot(
      'EventBusModule.forFeature',
      'brings bindings or consumers, but there is no event bus to run them.',
    );
  }
}

export function missingRoot(path: string, what: string): ConfigurationValidationException {
  const message = `${what} Import EventBusModule.forRoot in the root module.`;
  return new ConfigurationValidationException([
    { rule: 'NO_ROOT', binding: undefined, path, value: undefined, message },
  ]);
}
