/** One record of the topic. */
export interface PublishedRecord {
  readonly eventId: string;
  readonly key: string;
  readonly version: number;
  readonly node: string;
  readonly publishedAt: number;
  /** When the event was leased, by the clock of the database; 0 without a lease. */
  readonly leasedAt: number;
}

/** Something that was done to one node, or to all (`node` undefined). */
export interface Incident {
  readonly what: string;
  readonly node: string | undefined;
  readonly from: number;
  readonly to: number;
}

export interface LogReport {
  readonly records: number;
  /** Ids of committed events that have no record. */
  readonly lost: readonly string[];
  /** Ids of records without a committed event. */
  readonly unknown: readonly string[];
  /** Records after the first one of their event. */
  readonly duplicates: number;
  /** Duplicates without an incident of their first publisher between both publishes. */
  readonly unexplained: readonly (readonly [first: PublishedRecord, second: PublishedRecord])[];
  /** Records of a lease that was over: another lease had published the event before. */
  readonly stale: readonly PublishedRecord[];
  /** Records that are first of their event, behind one of a later version of their key. */
  readonly overtaken: readonly PublishedRecord[];
}

export function parseRecord(line: string): PublishedRecord {
  const [eventId = '', key = '', version, node = '', publishedAt, leasedAt] = line.split(' ');
  return {
    eventId,
    key,
    version: Number(version),
    node,
    publishedAt: Number(publishedAt),
    leasedAt: Number(leasedAt),
  };
}

/** Compares a topic, in the order of its partitions, with the events that the database has. */
export function examineLog(
  records: readonly PublishedRecord[],
  committed: ReadonlySet<string>,
  incidents: readonly Incident[],
): LogReport {
  const last = new Map<string, PublishedRecord>();
  const versions = new Map<string, number>();
  const unexplained: [PublishedRecord, PublishedRecord][] = [];
  const stale: PublishedRecord[] = [];
  const overtaken: PublishedRecord[] = [];
  for (const record of records) {
    const before = last.get(record.eventId);
    if (before) {
      if (record.leasedAt < before.leasedAt) stale.push(record);
      if (!incidents.some((incident) => explains(incident, before, record)))
        unexplained.push([before, record]);
    } else {
      const newest = versions.get(record.key) ?? 0;
      if (record.version < newest) overtaken.push(record);
      versions.set(record.key, Math.max(newest, record.version));
    }
    last.set(record.eventId, record);
  }
  return {
    records: records.length,
    lost: [...committed].filter((id) => !last.has(id)),
    unknown: [...last.keys()].filter((id) => !committed.has(id)),
    duplicates: records.length - last.size,
    unexplained,
    stale,
    overtaken,
  };
}

/** The incident kept the first publisher from storing that it had published. */
function explains(
  { node, from, to }: Incident,
  first: PublishedRecord,
  second: PublishedRecord,
): boolean {
  const isItsNode = node === undefined || node === first.node;
  return isItsNode && from <= second.publishedAt && to >= first.publishedAt;
}
