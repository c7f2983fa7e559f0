import type { AdminLetterFilter } from '../api/schemas/letter-schemas.js';
import type { DeadLetterFilter } from '../../redrive/letters/dead-letter-filter.js';
import { answerTime } from './answer-time.js';

/** Reads a filter of the API, whose times are ISO 8601. */
export function readFilter({ deadLetteredAt, ...rest }: AdminLetterFilter): DeadLetterFilter {
  if (deadLetteredAt === undefined) return rest as DeadLetterFilter;
  const bounds = Object.entries(deadLetteredAt).map(([name, time]) => [name, Date.parse(time)]);
  return { ...(rest as DeadLetterFilter), deadLetteredAt: Object.fromEntries(bounds) as object };
}

/** Writes the filter of a plan. Plans hold times as numbers, and no ages. */
export function filterAnswer({ deadLetteredAt, ...rest }: DeadLetterFilter): AdminLetterFilter {
  const filter = rest as AdminLetterFilter;
  if (typeof deadLetteredAt !== 'object' || 'in' in deadLetteredAt) return filter;
  const bounds = Object.entries(deadLetteredAt).map(([name, time]) => [name, answerTime(time)]);
  return { ...filter, deadLetteredAt: Object.fromEntries(bounds) as object };
}
