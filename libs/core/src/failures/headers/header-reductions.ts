import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { HeaderProfile } from './header-profile.js';

/**
 * A report and the profiles in which it is written. Without profiles only the control headers are
 * written.
 */
export interface HeaderContent {
  readonly report: FailureReport;
  readonly profiles: readonly HeaderProfile[];
}

/**
 * A step that removes a part of the headers. Each step starts from the result of the previous one.
 */
export interface Reduction {
  /** Name of the removed part, for the log. */
  readonly name: string;
  readonly reduce: (content: HeaderContent) => HeaderContent;
}

const withoutStack: Reduction = {
  name: 'stack',
  reduce: ({ report, ...content }) => {
    const { stack: _, ...description } = report.description;
    return { ...content, report: { ...report, description } };
  },
};

const withoutMessage: Reduction = {
  name: 'message',
  reduce: ({ report, ...content }) => {
    const { message: _, ...description } = report.description;
    const deserialization = report.deserialization && withoutReason(report.deserialization);
    return { ...content, report: { ...report, description, deserialization } };
  },
};

function withoutReason(failure: DeserializationFailure): DeserializationFailure {
  const { reason: _, ...rest } = failure;
  return rest;
}

/** Removes the other profiles, which contain the same data as the bus's own. */
const withoutExtraProfiles: Reduction = {
  name: 'further profiles',
  reduce: ({ report, profiles }) => ({
    report,
    profiles: profiles.filter(({ name }) => name === 'eventbus'),
  }),
};

const withoutProfiles: Reduction = {
  name: 'all but the control headers',
  reduce: ({ report }) => ({ report, profiles: [] }),
};

const withoutTierHistory: Reduction = {
  name: 'tier history',
  reduce: ({ report, profiles }) => ({ report: { ...report, tierHistory: [] }, profiles }),
};

/** Parts that are removed from the headers of a retry record until it fits, in this order. */
export const RETRY_REDUCTIONS: readonly Reduction[] = [
  withoutStack,
  withoutMessage,
  withoutExtraProfiles,
  withoutProfiles,
];

/** Parts that are removed from the headers of a dead letter until it fits, in this order. */
export const DEAD_LETTER_REDUCTIONS: readonly Reduction[] = [
  withoutStack,
  withoutMessage,
  withoutExtraProfiles,
  withoutTierHistory,
  withoutProfiles,
];
