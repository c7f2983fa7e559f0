import type { AdminSession } from '@nest-event-bus/broker';
import type { Position } from '../support/member-messages.js';
import type { Acknowledged } from './paced-writer.js';

/** A record as it stands in the log. */
export interface Standing extends Position {
  readonly number: number;
}

/** What is wrong with a log into which somebody wrote 0, 1, 2, … in this order, each once. */
export interface LogFaults {
  /** Acknowledged, but not in the log, or not where it was said to be. */
  readonly lost: readonly Acknowledged[];
  /** The number stands in the log a second time. */
  readonly duplicates: readonly Standing[];
  /** A later call stands before it. */
  readonly disordered: readonly Standing[];
}

/** By partition. */
export async function readLog(
  admin: AdminSession,
  topic: string,
): Promise<readonly (readonly Standing[])[]> {
  const logs: Standing[][] = [];
  for (const { partition } of await admin.watermarks(topic)) {
    const log: Standing[] = [];
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
  logs: readonly (readonly Standing[])[],
  acknowledged: readonly Acknowledged[],
): LogFaults {
  const duplicates: Standing[] = [];
  const disordered: Standing[] = [];
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

/** The offset of each number, by partition. */
export function offsetsOf(logs: readonly (readonly Standing[])[]): number[][] {
  return logs.map((log) => {
    const offsets: number[] = [];
    for (const { number, offset } of log) offsets[number] ??= offset;
    return offsets;
  });
}
