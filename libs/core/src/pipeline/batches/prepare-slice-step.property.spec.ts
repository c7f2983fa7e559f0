import fc from 'fast-check';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import type { SliceHandler } from '../../model/extension-points/record-handler.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { batchHandler, deliveryOf, processorOf, wholeSliceOf } from '../pipeline.spec-support.js';

describe('Any slice', () => {
  const kinds = fc.constantFrom('good', 'other', 'filtered', 'broken', 'unknown', 'failing');

  it('is passed to no further handler call after one that leaves a record unfinished, and keeps the order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(kinds, { minLength: 1, maxLength: 12 }), async (slice) => {
        const seen: number[] = [];
        const handle: SliceHandler<never> = async (
          records: readonly EventRecord<{ kind: string; index: number }>[],
        ) => {
          for (const [position, { value }] of records.entries()) {
            if (value.kind === 'failing') throw new BatchProcessingException(position, 'x');
            seen.push(value.index);
          }
        };
        const filter = ({ value }: EventRecord) => (value as { kind: string }).kind !== 'filtered';
        const handlers = [
          batchHandler(handle, { type: 'good', filter }),
          batchHandler(handle, { type: 'other' }),
        ];
        const deliveries = slice.map((kind, index) =>
          deliveryOf({
            type: ['other', 'unknown'].includes(kind) ? kind : 'good',
            value: kind === 'broken' ? Buffer.from('{') : { kind, index },
          }),
        );
        const outcomes = await wholeSliceOf(processorOf(handlers), deliveries);
        const end = slice.findIndex((kind) => kind === 'broken' || kind === 'failing');
        for (const [index, kind] of slice.entries()) {
          const expected = expectedKind(kind, index, end);
          // Discarded records after the end may be handed back or have their outcome already.
          const allowed = expected === 'left' ? ['discarded', 'handed-back'] : [expected];
          expect(allowed).toContain(outcomes[index]?.kind);
        }
        const done = slice.flatMap((kind, index) =>
          ['good', 'other'].includes(kind) && (end === -1 || index < end) ? [index] : [],
        );
        expect(seen).toEqual(done);
      }),
    );
  });
});

function expectedKind(kind: string, index: number, end: number): string {
  if (end !== -1 && index === end) return 'failed';
  const isDone = kind === 'filtered' || kind === 'unknown';
  if (end !== -1 && index > end) return isDone ? 'left' : 'handed-back';
  return isDone ? 'discarded' : 'succeeded';
}
