import type { OnApplicationBootstrap } from '@nestjs/common';
import type { TopicBindingProperties } from '../config/topic-binding-properties.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';

/** What one `EventBusModule.forFeature` brings. The bus finds all of them by this class. */
export class FeatureBindings implements OnApplicationBootstrap {
  #isClaimed = false;

  constructor(readonly bindings: Readonly<Record<string, TopicBindingProperties>>) {}

  /** A bus has read them. */
  claim(): void {
    this.#isClaimed = true;
  }

  /** Without a bus nobody would ever read these topics, and nobody would notice. */
  onApplicationBootstrap(): void {
    if (this.#isClaimed) return;
    throw new ConfigurationValidationException([
      {
        rule: 'NO_ROOT',
        binding: undefined,
        path: 'EventBusModule.forFeature',
        value: Object.keys(this.bindings),
        message:
          'brings bindings, but there is no event bus to run them. Import EventBusModule.forRoot in the root module.',
      },
    ]);
  }
}
