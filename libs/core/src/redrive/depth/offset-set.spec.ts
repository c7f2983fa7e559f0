import fc from 'fast-check';
import { OffsetSet } from './offset-set.js';

const OFFSETS = 40;

type Change =
  | { readonly kind: 'add'; readonly from: number; readonly length: number }
  | { readonly kind: 'remove' | 'drop'; readonly offset: number };

const offset = fc.nat({ max: OFFSETS });
const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      from: offset,
      length: fc.nat({ max: 8 }),
    }),
    fc.record({ kind: fc.constantFrom('remove' as const, 'drop' as const), offset }),
  ),
  { maxLength: 30 },
);

function apply(change: Change, set: OffsetSet, model: Set<number>): void {
  switch (change.kind) {
    case 'add':
      set.add(change.from, change.from + change.length);
      for (let at = 0; at < change.length; at++) model.add(change.from + at);
      return;
    case 'remove':
      set.remove(change.offset);
      model.delete(change.offset);
      return;
    case 'drop':
      set.dropBefore(change.offset);
      for (const each of model) if (each < change.offset) model.delete(each);
  }
}

describe('OffsetSet', () => {
  it('has exactly the offsets of a plain set', () => {
    fc.assert(
      fc.property(changes, (all) => {
        const set = new OffsetSet();
        const model = new Set<number>();
        for (const change of all) apply(change, set, model);
        expect(set.size).toBe(model.size);
        for (let at = 0; at < OFFSETS + 10; at++) {
          expect(set.has(at)).toBe(model.has(at));
          let end = at;
          while (model.has(end)) end++;
          expect(set.endOfRangeAt(at)).toBe(end);
          const later = [...model].filter((each) => each >= at);
          expect(set.firstFrom(at)).toBe(Math.min(Infinity, ...later));
        }
      }),
    );
  });
});
