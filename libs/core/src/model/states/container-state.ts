/** Where a container is in its life. RUNNING includes one that is still trying to join its group. */
export const ContainerState = {
  CREATED: 'CREATED',
  RUNNING: 'RUNNING',
  PAUSED: 'PAUSED',
  STOPPED: 'STOPPED',
  DESTROYED: 'DESTROYED',
} as const;

export type ContainerState = (typeof ContainerState)[keyof typeof ContainerState];

/** What the gauge shows. The numbers never change. */
export const CONTAINER_STATE_CODES: Readonly<Record<ContainerState, number>> = Object.freeze({
  CREATED: 0,
  RUNNING: 1,
  PAUSED: 2,
  STOPPED: 3,
  DESTROYED: 4,
});
