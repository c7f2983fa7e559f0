/**
 * The lifecycle state of a container. RUNNING includes a container that is still trying to join its
 * group.
 */
export const ContainerState = {
  CREATED: 'CREATED',
  RUNNING: 'RUNNING',
  PAUSED: 'PAUSED',
  STOPPED: 'STOPPED',
  DESTROYED: 'DESTROYED',
} as const;

export type ContainerState = (typeof ContainerState)[keyof typeof ContainerState];

/** Values of the gauge. The numbers never change, because dashboards depend on them. */
export const CONTAINER_STATE_CODES: Readonly<Record<ContainerState, number>> = Object.freeze({
  CREATED: 0,
  RUNNING: 1,
  PAUSED: 2,
  STOPPED: 3,
  DESTROYED: 4,
});
