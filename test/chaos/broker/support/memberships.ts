import type { ConsumerOptions } from '@nest-event-bus/broker';

/** Group protocols; each suite runs with each. */
export const memberships = {
  eager: { assignors: ['sticky'] },
  cooperative: { assignors: ['cooperative-sticky'] },
  consumer: { groupProtocol: 'consumer' },
} as const satisfies Readonly<Record<string, Partial<ConsumerOptions>>>;

export type MembershipName = keyof typeof memberships;

export const membershipNames = Object.keys(memberships) as MembershipName[];
