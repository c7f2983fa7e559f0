import type { AdminSession } from '@nest-event-bus/broker';
import type { Position } from '../support/member-messages.js';
import type { Acknowledged } from './paced-writer.js';

/** A record as the log contains it. */
export interface StoredRecord extends Position {
  readonly number: number;
}

/** Faults of a log that should contain 0, 1, 2, … in this order, each once. */
export interface LogFaults {
  /** Acknowledged, but missing in the log or at another offset. */
  readonly lost: readonly Acknowledged[];
  /** The log contains the number a second time. */
  readonly duplicates: readonly StoredRecord[];
  /** The log contains the record of a later call before this one. */
  readonly disordered: readonly StoredRecord[];
}

/** Reads the log of each partition. */
export async function readLog(
  admin: AdminSession,
  topic: string,
): Promise<readonly (readonly StoredRecord[])[]> {
  const logs: StoredRecord[][] = [];
  for (const { partition } of await admin.watermarks(topic)) {
    const log: StoredRecord[] = [];
    for await (const { offset, value } of admin.readRange(
      topic,
      partition,
      0,
      Number.MAX_SAFE_INTEGER,
    ))
      log.push({ partition, offset, number: Number(value) });
    logs[partition] = log;
  }
  return logs;
}

export function logFaults(
  logs: readonly (readonly StoredRecord[])[],
  acknowledged: readonly Acknowledged[],
): LogFaults {
  const duplicates: StoredRecord[] = [];
  const disordered: StoredRecord[] = [];
  const places = logs.map((log) => {
    const offsets = new Map<number, number>();
    let highest = -1;
    for (const record of log) {
      if (offsets.has(record.number)) duplicates.push(record);
      else if (record.number < highest) disordered.push(record);
      offsets.set(record.number, record.offset);
      highest = Math.max(highest, record.number);
    }
    return offsets;
  });
  const lost = acknowledged.filter(({ partition, number, offset }) => {
    const found = places[partition]?.get(number);
    return found === undefined || (offset !== -1 && found !== offset);
  });
  return { lost, duplicates, disordered };
}

/** Offset of each number, by partition. */
export function offsetsOf(logs: readonly (readonly StoredRecord[])[]): number[][] {
  return logs.map((log) => {
    const offsets: number[] = [];
    for (const { number, offset } of log) offsets[number] ??= offset;
    return offsets;
  });
}
