/*
 * A session has two connections to its coordinator. A broker answers a connection strictly in
 * order, and it holds a join until the whole group has come: what must flow meanwhile (heartbeats,
 * commits, the leave) cannot stand behind it.
 */

/** JoinGroup and SyncGroup, and nothing else; opened for a rebalance and closed after it. */
export const joinChannel = (sessionId: string): string => `join:${sessionId}`;

/** Heartbeats, commits, offset lookups, the leave. */
export const groupChannel = (sessionId: string): string => `group:${sessionId}`;
