/**
 * A session has two connections to its coordinator. A broker answers the requests of a connection
 * strictly in order, and it holds JoinGroup until the whole group has joined. Heartbeats, commits
 * and LeaveGroup must not wait behind it.
 */

/** Connection for JoinGroup and SyncGroup only; opened for a rebalance and closed after it. */
export const joinChannel = (sessionId: string): string => `join:${sessionId}`;

/** Connection for heartbeats, commits, offset lookups and LeaveGroup. */
export const groupChannel = (sessionId: string): string => `group:${sessionId}`;
