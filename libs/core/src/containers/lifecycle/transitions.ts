import {
  InvalidContainerStateException,
  type ContainerOperation,
} from '../../errors/container-errors.js';
import type { ContainerState } from '../../model/states/container-state.js';

/**
 *            start            pause
 *   CREATED ───────► RUNNING ───────► PAUSED       destroy: from each of the four
 *                    ▲  │  ▲           │  │                 to DESTROYED, which is
 *              start │  │  └───────────┘  │                 the end
 *                    │  │ stop  resume    │ stop
 *                   STOPPED ◄─────────────┘
 */
const ALLOWED_FROM: Readonly<Record<ContainerOperation, readonly ContainerState[]>> = {
  start: ['CREATED', 'STOPPED'],
  stop: ['RUNNING', 'PAUSED'],
  pause: ['RUNNING'],
  resume: ['PAUSED'],
  destroy: ['CREATED', 'RUNNING', 'PAUSED', 'STOPPED'],
};

export function assertTransition(
  binding: string,
  operation: ContainerOperation,
  current: ContainerState,
): void {
  const required = ALLOWED_FROM[operation];
  if (required.includes(current)) return;
  throw new InvalidContainerStateException(binding, operation, current, required);
}

/** Returns whether the binding has sessions, paused or not. */
export function isLive(state: ContainerState): boolean {
  return state === 'RUNNING' || state === 'PAUSED';
}
