import type { TopicPartition } from '@nest-event-bus/broker';
import type { MembershipName } from './memberships.js';

/** What the test tells a member when it starts it. */
export interface MemberSettings {
  readonly name: string;
  readonly brokers: readonly string[];
  readonly groupId: string;
  readonly topic: string;
  readonly membership: MembershipName;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
}

/** What the test tells a member that runs; each of the first two counts for the next revocation only. */
export type MemberOrder =
  | { readonly order: 'take-long-to-revoke'; readonly milliseconds: number }
  | { readonly order: 'never-hand-back' }
  | { readonly order: 'leave' };

export interface Position {
  readonly partition: number;
  readonly offset: number;
}

interface InGeneration {
  readonly generation: number;
}

/** What a member says, one JSON line each, before it goes on: what it did not say it has not done. */
export type MemberEvent = { readonly at: number } & (
  | { readonly kind: 'obeyed'; readonly order: MemberOrder['order'] }
  | ({
      readonly kind: 'assigned';
      readonly memberId: string;
      readonly positions: readonly Position[];
    } & InGeneration)
  | ({
      readonly kind: 'revoking' | 'revoked' | 'lost';
      readonly partitions: number[];
    } & InGeneration)
  /** All that is its own in a generation at rest. */
  | ({ readonly kind: 'owns'; readonly partitions: number[] } & InGeneration)
  | {
      readonly kind: 'handled';
      readonly records: readonly (Position & { readonly number: number })[];
    }
  | ({
      readonly kind: 'committed';
      readonly insideRevocation: boolean;
      readonly startedAt: number;
      readonly positions: readonly Position[];
    } & InGeneration)
  | {
      readonly kind: 'commit-failed';
      readonly insideRevocation: boolean;
      readonly error: string;
    }
  | { readonly kind: 'status'; readonly state: string; readonly error: string | undefined }
  /** The process did not get the processor for so long: what it missed meanwhile is not the driver's doing. */
  | { readonly kind: 'starved'; readonly milliseconds: number }
  | { readonly kind: 'left' }
  | { readonly kind: 'broke'; readonly error: string }
);

/** An event as it is written, before it gets its time. */
export type Said = MemberEvent extends infer Event
  ? Event extends MemberEvent
    ? Omit<Event, 'at'>
    : never
  : never;

export const numbersOf = (partitions: readonly TopicPartition[]): number[] =>
  partitions.map(({ partition }) => partition);
