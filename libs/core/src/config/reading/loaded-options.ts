import type { EventBusProperties } from '../properties/event-bus-properties.js';
import { isPlainObject } from './plain-object.js';

/** A key that a loader understood or not, but has no place for. */
export interface UnusedKey {
  readonly source: string;
  readonly key: string;
  /** What is done instead, or why nothing is. */
  readonly reason: string;
}

/** What a loader made of a file or of the environment. */
export interface LoadedOptions {
  /** For messages: `the environment`. */
  readonly source: string;
  readonly options: Partial<EventBusProperties>;
  readonly unused: readonly UnusedKey[];
}

export const isLoadedOptions = (value: unknown): value is LoadedOptions =>
  isPlainObject(value) &&
  typeof value['source'] === 'string' &&
  isPlainObject(value['options']) &&
  Array.isArray(value['unused']);
