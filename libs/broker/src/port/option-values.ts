import { InvalidOptionError } from './errors.js';
import { nearestName } from './nearest-name.js';

/** Throws for the first key that is not in `known`, and suggests the most similar known key. */
export function rejectUnknownKeys(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new InvalidOptionError(
      `${where} options must be an object; got ${formatValue(options)}.`,
    );
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  throw new InvalidOptionError(
    nearest
      ? `${where} options have no "${unknown}". Did you mean "${nearest}"?`
      : `${where} options have no "${unknown}". Known are: ${known.join(', ')}.`,
  );
}

/** Checks Kafka's rule for topic names. */
export function topicName(where: string, topic: unknown): string {
  return legalName(where, topic, 'topic name');
}

export function legalName(where: string, given: unknown, kind: string): string {
  const name = text(where, given);
  if (name === '.' || name === '..' || name.length > 249 || !/^[A-Za-z0-9._-]+$/.test(name))
    throw new InvalidOptionError(
      `${where}: ${formatValue(name)} is no legal ${kind}. Use up to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-", but not "." or ".." alone.`,
    );
  return name;
}

export function oneOf<T extends string>(
  where: string,
  value: unknown,
  allowed: readonly T[],
  advice = '',
): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const nearest = typeof value === 'string' ? nearestName(value, allowed) : undefined;
  throw new InvalidOptionError(
    `${where} must be one of ${allowed.map(formatValue).join(', ')}; got ${formatValue(value)}.${nearest ? ` Did you mean "${nearest}"?` : ''}${advice}`,
  );
}

export function integer(where: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw new InvalidOptionError(
    `${where} must be a whole number of at least ${least}; got ${formatValue(value)}.`,
  );
}

export function flag(where: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new InvalidOptionError(`${where} must be true or false; got ${formatValue(value)}.`);
}

export function text(where: string, value: unknown): string {
  if (typeof value === 'string' && value.length > 0) return value;
  throw new InvalidOptionError(
    `${where} must be a text that is not empty; got ${formatValue(value)}.`,
  );
}

export function formatValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return value !== null && typeof value === 'object' ? 'an object' : String(value);
}
