import type { EventBusProperties } from '../properties/event-bus-properties.js';
import { isPlainObject } from './plain-object.js';

/** A key that a loader found, but that is no option of the event bus. */
export interface UnusedKey {
  readonly source: string;
  readonly key: string;
  /** Reason why the key is not used, or what is done instead. */
  readonly reason: string;
}

/** Options that a loader read from a file or from the environment. */
export interface LoadedOptions {
  /** Name of the source in messages: `the environment`. */
  readonly source: string;
  readonly options: Partial<EventBusProperties>;
  readonly unused: readonly UnusedKey[];
}

export const isLoadedOptions = (value: unknown): value is LoadedOptions =>
  isPlainObject(value) &&
  typeof value['source'] === 'string' &&
  isPlainObject(value['options']) &&
  Array.isArray(value['unused']);
