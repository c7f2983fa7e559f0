import { IllegalArgumentError } from './argument-errors.js';

export function positiveInteger(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new IllegalArgumentError(`${name} is ${value}. Use a whole number above 0.`);
  return value;
}

export function duration(name: string, value: number): number {
  if (!Number.isFinite(value) || value < 0)
    throw new IllegalArgumentError(`${name} is ${value}. Use milliseconds, 0 or more.`);
  return value;
}

export function positiveDuration(name: string, value: number): number {
  if (duration(name, value) === 0)
    throw new IllegalArgumentError(`${name} is 0. Use milliseconds above 0.`);
  return value;
}
