import { withClass, type ErrorTypes } from '../error-matching/error-types.js';
import type { Merged } from '../reading/merge-layers.js';
import type { ResolvedExceptionRoute } from './resolved-binding.js';
import { below, type Violations } from '../validation/violations.js';

/** Returns the routes with names of errors replaced by their classes. */
export function resolveRoutes(
  merged: Merged,
  types: ErrorTypes | undefined,
): readonly ResolvedExceptionRoute[] {
  return routesOf(merged).map((route) => ({ ...route, match: withClass(route.match, types) }));
}

export function requireRoutes(
  merged: Merged,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  routesOf(merged).forEach((route, index) => {
    for (const key of ['match', 'routing'] as const) {
      const keyPath = `exceptionRouting[${index}].${key}`;
      if (route[key] !== undefined || isBroken(keyPath)) continue;
      const message = `is missing: an entry names an error and where its records go. Write { match: 'TimeoutError', routing: 'NEXT_TIER' }.`;
      violations.add('REQUIRED', below(path, keyPath), undefined, message);
    }
  });
}

const routesOf = ({ values }: Merged): readonly ResolvedExceptionRoute[] =>
  values['exceptionRouting'] as readonly ResolvedExceptionRoute[];
