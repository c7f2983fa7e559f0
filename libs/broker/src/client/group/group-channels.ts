/**
 * A session has two connections to its coordinator. A broker answers the requests of a connection
 * strictly in order, and it answers JoinGroup only when the whole group has joined. Heartbeats,
 * commits and LeaveGroup must not wait for that response.
 */

/**
 * The connection for JoinGroup and SyncGroup. It is opened for a rebalance and closed afterwards.
 */
export const joinChannel = (sessionId: string): string => `join:${sessionId}`;

/** The connection for heartbeats, commits, offset lookups and LeaveGroup. */
export const groupChannel = (sessionId: string): string => `group:${sessionId}`;
