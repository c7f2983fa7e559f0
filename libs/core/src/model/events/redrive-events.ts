import type { BusEventBase } from './event-bus-events.js';

/** What every event about a redrive says. `operation` is the id of its plan. */
interface RedriveEvent<Name extends string> extends BusEventBase<Name> {
  readonly operation: string;
  /** The operator. */
  readonly by: string;
}

/** How a run ended in this process. */
export type RedriveEndState = 'stopped' | 'cancelled' | 'rejected' | 'completed';

/** A run has begun in this process, or has resumed an operation. */
export interface RedriveStarted extends RedriveEvent<'redrive.started'> {
  readonly selected: number;
  readonly remaining: number;
}

/** This process has written the verdict about a canary. */
export interface RedriveCanaryDecided extends RedriveEvent<'redrive.canary-decided'> {
  readonly verdict: 'good' | 'bad';
  /** Why the verdict is bad. */
  readonly reason: 'failed-again' | 'undecided-for-too-long' | undefined;
  readonly good: number;
  readonly bad: number;
  readonly undecided: number;
}

/** An operator has approved the rest of an operation. */
export type RedriveApproved = RedriveEvent<'redrive.approved'>;

type RedriveBrake = 'circuit-open' | 'letters-returned' | 'lag';

/** A run has paused itself in this process. */
export interface RedriveBraked extends RedriveEvent<'redrive.braked'> {
  readonly brake: RedriveBrake;
  /** The figure that was too large. */
  readonly figure: number | undefined;
  readonly limit: number | undefined;
}

/** The cause of a brake is over. */
export interface RedriveResumed extends RedriveEvent<'redrive.resumed'> {
  readonly brake: RedriveBrake;
  readonly pausedForMs: number;
}

/** A run has ended in this process. */
export interface RedriveEnded extends RedriveEvent<'redrive.ended'> {
  readonly state: RedriveEndState;
  readonly replayed: number;
  readonly skipped: number;
  readonly failed: number;
  readonly remaining: number;
}

/** The events of redrives by their names. */
export interface RedriveEventMap {
  readonly 'redrive.started': RedriveStarted;
  readonly 'redrive.canary-decided': RedriveCanaryDecided;
  readonly 'redrive.approved': RedriveApproved;
  readonly 'redrive.braked': RedriveBraked;
  readonly 'redrive.resumed': RedriveResumed;
  readonly 'redrive.ended': RedriveEnded;
}

export type RedriveEventName = keyof RedriveEventMap;
