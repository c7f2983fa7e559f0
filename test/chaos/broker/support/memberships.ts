import type { ConsumerOptions } from '@nest-event-bus/broker';

/** The group protocols. Each suite runs with each of them. */
export const memberships = {
  eager: { assignors: ['sticky'] },
  cooperative: { assignors: ['cooperative-sticky'] },
  consumer: { groupProtocol: 'consumer' },
} as const satisfies Readonly<Record<string, Partial<ConsumerOptions>>>;

export type MembershipName = keyof typeof memberships;

export const membershipNames = Object.keys(memberships) as MembershipName[];
