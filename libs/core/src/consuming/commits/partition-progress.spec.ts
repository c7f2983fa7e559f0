import type { AssignedPartition, BrokerRecord } from '@nest-event-bus/broker';
import fc from 'fast-check';
import { decodeMetadata } from './commit-metadata-format.js';
import { MetadataBudget } from './metadata-budget.js';
import { PartitionProgress } from './partition-progress.js';
import { recordsOf } from '../session/lane-test-bed.spec-support.js';

interface Given {
  readonly position?: number;
  readonly metadata?: string | null;
  readonly topicId?: string | null;
  readonly budget?: MetadataBudget;
}

function progressWith({ position = 0, metadata, topicId = 'one', budget }: Given = {}) {
  const committed = metadata === undefined ? null : { offset: position, metadata, leaderEpoch: 0 };
  const assigned: AssignedPartition = { topic: 't', partition: 0, position, committed };
  return new PartitionProgress(assigned, { topicId, budget: budget ?? new MetadataBudget() });
}

function receive(progress: PartitionProgress, ...offsets: readonly number[]): readonly number[] {
  const wanted = recordsOf(...offsets).filter((record) => progress.receive(record));
  return wanted.map(({ offset }) => offset);
}

/** Creates the progress of a partition in which one of five records completed out of order. */
function withGap(given?: Given): PartitionProgress {
  const progress = progressWith(given);
  receive(progress, 0, 1, 2, 3, 4);
  progress.tracker.complete(2);
  return progress;
}

describe('PartitionProgress.commitPoint', () => {
  it('returns the watermark once, and undefined until there is new progress', () => {
    const progress = progressWith();
    receive(progress, 0, 1);
    expect(progress.commitPoint()).toBeUndefined();
    progress.tracker.complete(0);
    const point = progress.commitPoint();
    expect(point).toEqual({ topic: 't', partition: 0, offset: 1, leaderEpoch: 0 });
    if (point) progress.confirm(point);
    expect(progress.commitPoint()).toBeUndefined();
  });

  it('returns the start of a recreated topic without the leader epoch of the deleted one', () => {
    const progress = progressWith();
    receive(progress, 0, 1);
    progress.commitStart(0);
    expect(progress.commitPoint()).toEqual({
      topic: 't',
      partition: 0,
      offset: 0,
      leaderEpoch: -1,
    });
  });

  it('returns the held start of a recreated topic, which the next reader replaces', () => {
    const held = progressWith({ position: 3 });
    held.commitHeldStart();
    const start = { topic: 't', partition: 0, offset: 3 };
    expect(held.commitPoint()).toEqual({ ...start, leaderEpoch: -1, metadata: 'eb recreated' });
    const reader = progressWith({ position: 3, metadata: 'eb recreated' });
    expect(reader.commitPoint()).toMatchObject(start);
    expect(reader.commitPoint()).not.toHaveProperty('metadata');
  });

  it('returns no held start for a partition without a position', () => {
    const held = progressWith({ position: -1 });
    held.commitHeldStart();
    expect(held.commitPoint()).toBeUndefined();
  });

  it('returns the watermark again if the group has stored an older one since', () => {
    const progress = progressWith();
    receive(progress, 0, 1);
    progress.tracker.complete(0);
    const older = progress.commitPoint();
    progress.tracker.complete(1);
    const newer = progress.commitPoint();
    for (const point of [newer, older]) if (point) progress.confirm(point);
    expect(progress.commitPoint()).toEqual(newer);
  });

  it('returns the watermark again if only the completed ranges beyond it changed', () => {
    const progress = withGap();
    const first = progress.commitPoint();
    expect(first).toMatchObject({ offset: 0, metadata: 'eb2 0@0 0/0 one CB' });
    if (first) progress.confirm(first);
    expect(progress.commitPoint()).toBeUndefined();
    progress.tracker.complete(4);
    expect(progress.commitPoint()).toMatchObject({ offset: 0, metadata: 'eb2 0@0 0/0 one CBBB' });
    for (const offset of [0, 1, 3]) progress.tracker.complete(offset);
    expect(progress.commitPoint()).toEqual({ topic: 't', partition: 0, offset: 5, leaderEpoch: 0 });
  });

  it('returns undefined after stopCommitting(): the offsets belong to another log', () => {
    const progress = withGap();
    progress.stopCommitting();
    expect(progress.commitPoint()).toBeUndefined();
  });

  it('reports that the metadata is full, and omits metadata without a budget', () => {
    const budget = new MetadataBudget();
    const progress = withGap({ budget, topicId: 'i'.repeat(86) });
    progress.tracker.complete(4);
    expect([progress.commitPoint()?.metadata?.length, progress.isMetadataFull]).toEqual([
      103,
      false,
    ]);
    budget.shrink(202);
    expect([progress.commitPoint()?.metadata?.length, progress.isMetadataFull]).toEqual([
      101,
      true,
    ]);
    budget.shrink(140);
    expect([budget.units, progress.commitPoint(), progress.isMetadataFull]).toEqual([
      50,
      undefined,
      true,
    ]);
    budget.shrink(60);
    expect([budget.units, progress.commitPoint(), progress.isMetadataFull]).toEqual([
      0,
      undefined,
      false,
    ]);
  });
});

describe('commit metadata of an earlier owner', () => {
  const metadata = 'eb2 0@0 0/0 one CB';

  it('keeps records that it lists as completed away from the handler', () => {
    const progress = progressWith({ metadata });
    expect(progress.commitPoint()).toBeUndefined();
    expect(receive(progress, 0, 1, 2, 3)).toEqual([0, 1, 3]);
    expect(progress.commitPoint()).toBeUndefined();
    progress.tracker.complete(0);
    expect(progress.commitPoint()).toMatchObject({ offset: 1, metadata: 'eb2 0@1 0/0 one BB' });
  });

  it.each<[string, Given, readonly BrokerRecord[]]>([
    ['the topic was deleted and created again', { topicId: 'two' }, recordsOf(0, 1, 2)],
    ['the topic has no id any more', { topicId: null }, recordsOf(0, 1, 2)],
    [
      'the record at its offset was written in another leader epoch',
      {},
      recordsOf(0, 1, 2).map((record) => ({ ...record, leaderEpoch: 4 })),
    ],
    [
      'the record at its offset was written in an earlier leader epoch',
      { metadata: 'eb2 0@0 3/3 one CB' },
      recordsOf(0, 1, 2),
    ],
    ['the record at its offset does not exist any more', {}, recordsOf(1, 2)],
    ['it has another version', { metadata: 'eb1 0/0 one CB' }, recordsOf(0, 1, 2)],
    ['it names another offset', { metadata: 'eb2 0@1 0/0 one CB' }, recordsOf(0, 1, 2)],
    ['it names another partition', { metadata: 'eb2 1@0 0/0 one CB' }, recordsOf(0, 1, 2)],
  ])('is discarded if %s, and removed by the next commit', (_, given, records) => {
    const progress = progressWith({ metadata, ...given });
    expect(records.filter((record) => progress.receive(record))).toHaveLength(records.length);
    const isOurs = given.metadata?.startsWith('eb2 0@0') !== false;
    expect(progress.commitPoint()).toEqual(
      isOurs ? { topic: 't', partition: 0, offset: expect.any(Number), leaderEpoch: 0 } : undefined,
    );
  });

  const inEpochs = (...epochs: readonly number[]): readonly BrokerRecord[] =>
    epochs.map((leaderEpoch, offset) => ({ ...recordsOf(offset)[0]!, leaderEpoch }));

  it('names the leader epoch of the last completed record', () => {
    const progress = progressWith();
    for (const record of inEpochs(0, 0, 2, 3)) progress.receive(record);
    progress.tracker.complete(2);
    expect(progress.commitPoint()).toMatchObject({ offset: 0, metadata: 'eb2 0@0 0/2 one CB' });
  });

  it('commits the leader epoch of the earlier owner until later records are read', () => {
    const progress = progressWith({ metadata: 'eb2 0@0 0/3 one CB' });
    for (const record of inEpochs(0, 0)) progress.receive(record);
    progress.tracker.complete(0);
    expect(progress.commitPoint()).toMatchObject({ offset: 1, metadata: 'eb2 0@1 0/3 one BB' });
  });

  it.each<[string, string, readonly number[], readonly number[]]>([
    ['the leader moved', 'eb2 0@0 0/3 one CBBB', [0, 1, 3, 3, 3, 4], [0, 1, 3, 5]],
    ['the log was truncated before them', 'eb2 0@0 0/3 one CBBB', [0, 4, 4, 4, 4], [0, 1, 2, 3, 4]],
    [
      'the log was truncated at the next record',
      'eb2 0@0 0/3 one BD',
      [0, 4, 4, 4, 4],
      [0, 1, 2, 3, 4],
    ],
    ['the log was truncated between them', 'eb2 0@0 0/3 one CBBB', [0, 0, 3, 4, 4], [0, 1, 3, 4]],
  ])(
    'applies only to records that the log had when it was written: %s',
    (_, said, epochs, expected) => {
      const progress = progressWith({ metadata: said });
      const received = inEpochs(...epochs).filter((record) => progress.receive(record));
      expect(received.map(({ offset }) => offset)).toEqual(expected);
      for (const { offset } of received) progress.tracker.complete(offset);
      expect(progress.commitPoint()).toMatchObject({ offset: epochs.length });
    },
  );

  it('is discarded if the log has no record at its offset', () => {
    const progress = progressWith({ metadata });
    progress.tracker.advanceTo(2);
    expect(progress.commitPoint()).toEqual({ topic: 't', partition: 0, offset: 2, leaderEpoch: 0 });
    expect(receive(progress, 2)).toEqual([2]);
  });

  it('is discarded if reading starts at another offset', () => {
    const assigned: AssignedPartition = {
      topic: 't',
      partition: 0,
      position: 1,
      committed: { offset: 0, metadata, leaderEpoch: 0 },
    };
    const progress = new PartitionProgress(assigned, {
      topicId: 'one',
      budget: new MetadataBudget(),
    });
    expect(receive(progress, 1, 2)).toEqual([1, 2]);
  });
});

describe('metadata passed from one owner to the next', () => {
  const log = recordsOf(...Array.from({ length: 60 }, (_, index) => 2 * index));

  it('hides no unfinished record, and no recorded one is redelivered', () => {
    const owners = fc.array(fc.array(fc.nat(59), { maxLength: 40 }), { maxLength: 6 });
    fc.assert(
      fc.property(owners, fc.integer({ min: 20, max: 300 }), (turns, units) => {
        const budget = new MetadataBudget();
        budget.shrink(2 * units);
        const done = new Set<number>();
        const broken: string[] = [];
        let committed: AssignedPartition['committed'] = null;
        for (const picks of turns) {
          const position: number = committed?.offset ?? 0;
          const assigned: AssignedPartition = { topic: 't', partition: 0, position, committed };
          const progress = new PartitionProgress(assigned, { topicId: 'one', budget });
          const recorded = recordedIn(committed);
          const received = log
            .filter(({ offset }) => offset >= progress.tracker.next)
            .filter((record) => progress.receive(record))
            .map(({ offset }) => offset);
          for (const { offset } of log) {
            const isReceived = received.includes(offset);
            if (!isReceived && !done.has(offset)) broken.push(`${offset} is hidden`);
            if (isReceived && recorded(offset)) broken.push(`${offset} comes again`);
          }
          for (const pick of picks) {
            const offset = received[pick % Math.max(received.length, 1)];
            if (offset === undefined || done.has(offset)) continue;
            done.add(offset);
            progress.tracker.complete(offset);
          }
          const point = progress.commitPoint();
          if (!point) continue;
          const { offset, metadata = null, leaderEpoch = -1 } = point;
          if (log.some((record) => record.offset < offset && !done.has(record.offset)))
            broken.push(`${offset} is committed too early`);
          committed = { offset, metadata, leaderEpoch };
        }
        expect(broken).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

function recordedIn(committed: AssignedPartition['committed']): (offset: number) => boolean {
  const start = committed?.offset ?? 0;
  const ranges =
    decodeMetadata({ partition: 0, offset: start }, committed?.metadata ?? null)?.ranges ?? [];
  return (offset) => offset < start || ranges.some(({ from, to }) => from <= offset && offset < to);
}
