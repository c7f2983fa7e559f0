/** The state of an event. The numbers are stored in the database. */
export enum EventStatus {
  NEW = 0,
  DONE = 1,
  RETRY = 2,
  DEAD = 3,
}
