/** Why an operation has paused itself. */
export type BrakeReason =
  /** The circuit of the target binding is open in this process. */
  | 'circuit-open'
  /** Letters of the same group of cause were dead-lettered again. */
  | 'letters-returned'
  /** The group of the target is too far behind. */
  | 'lag';

export interface Brake {
  readonly reason: BrakeReason;
  /** The figure that was too large: returned letters, or records of lag. */
  readonly figure?: number;
  readonly limit?: number;
}

export interface BrakeLimits {
  readonly circuit: boolean;
  /** Undefined for no limit. */
  readonly returned: number | undefined;
  readonly lag: number | undefined;
  readonly quietMs: number;
}

/** The figures that the brakes look at. A figure is undefined if it is not known. */
export interface BrakeReadings {
  readonly isCircuitOpen: boolean;
  /** Letters that came back since the operation ran on. */
  readonly returned: number;
  /** The time since the last of them. */
  readonly quietForMs: number;
  readonly lag: number | undefined;
}

/** The lag has to fall to this part of its limit before the operation goes on. */
const LAG_TO_GO_ON = 0.5;

/** Returns the brake that holds the operation now; undefined if it may go on. */
export function brakeOf(
  { circuit, returned: mostReturned, lag: mostLag, quietMs }: BrakeLimits,
  { isCircuitOpen, returned, quietForMs, lag }: BrakeReadings,
  held: Brake | undefined,
): Brake | undefined {
  if (circuit && isCircuitOpen) return { reason: 'circuit-open' };
  const isReturning = mostReturned !== undefined && returned >= mostReturned;
  if (isReturning && !(held?.reason === 'letters-returned' && quietForMs >= quietMs))
    return { reason: 'letters-returned', figure: returned, limit: mostReturned };
  if (mostLag === undefined) return undefined;
  const wasBehind = held?.reason === 'lag';
  if (lag === undefined) return wasBehind ? held : undefined;
  const most = wasBehind ? mostLag * LAG_TO_GO_ON : mostLag;
  return lag > most ? { reason: 'lag', figure: lag, limit: mostLag } : undefined;
}
