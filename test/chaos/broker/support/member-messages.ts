import type { TopicPartition } from '@nest-event-bus/broker';
import type { MembershipName } from './memberships.js';

/** Settings of a member process. */
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

/** Commands to a running member; the first two apply to the next revocation only. */
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

/** Events of a member, one JSON line each, written before it continues: an unreported event has not happened. */
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
  /** Its partitions in a stable generation. */
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
  /** The process did not get the processor for this long, so delays in that time are not caused by the driver. */
  | { readonly kind: 'starved'; readonly milliseconds: number }
  | { readonly kind: 'left' }
  | { readonly kind: 'broke'; readonly error: string }
);

/** An event before its time is added. */
export type MemberEventBody = MemberEvent extends infer Event
  ? Event extends MemberEvent
    ? Omit<Event, 'at'>
    : never
  : never;

export const numbersOf = (partitions: readonly TopicPartition[]): number[] =>
  partitions.map(({ partition }) => partition);
