import type { AssignorName } from '../port/consumer.js';
import { InvalidOptionError } from '../port/errors.js';
import { DEFAULT_ASSIGNORS } from '../port/validate-consumer-options.js';
import type { Assignor } from './assignor.js';
import { CooperativeStickyAssignor } from './sticky/cooperative-sticky-assignor.js';
import { RangeAssignor } from './range-assignor.js';
import { StickyAssignor } from './sticky/sticky-assignor.js';

const ASSIGNORS: Readonly<Record<AssignorName, Assignor>> = {
  'cooperative-sticky': new CooperativeStickyAssignor(),
  sticky: new StickyAssignor(),
  range: new RangeAssignor(),
};

/** Returns the assignor with this name, which is an option or the broker's choice. */
export function assignorNamed(name: string): Assignor {
  if (!isAssignorName(name))
    throw new InvalidOptionError(
      `There is no assignor "${name}". Use one of: ${Object.keys(ASSIGNORS).join(', ')}.`,
    );
  return ASSIGNORS[name];
}

/**
 * Returns assignors in the given order. JoinGroup must list them in this order, because the broker
 * counts first choices.
 */
export function assignorsInOrder(
  names: readonly string[] = DEFAULT_ASSIGNORS,
): readonly Assignor[] {
  if (names.length === 0)
    throw new InvalidOptionError(
      `"assignors" is empty: a member must offer at least one. Leave it out for ${DEFAULT_ASSIGNORS.join(', ')}.`,
    );
  return [...new Set(names)].map(assignorNamed);
}

function isAssignorName(name: string): name is AssignorName {
  return Object.hasOwn(ASSIGNORS, name);
}
