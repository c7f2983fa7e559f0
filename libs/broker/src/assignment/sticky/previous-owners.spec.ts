import { PreviousOwners } from './previous-owners.js';

type Claim = readonly [memberId: string, generation: number];

function ownerAfter(...claims: readonly Claim[]): string | null {
  const owners = new PreviousOwners();
  for (const [memberId, generation] of claims)
    owners.claim(memberId, generation, { topic: 't', partition: 0 });
  return owners.ownerOf('t', 0);
}

describe('whose a partition was', () => {
  it.each<[string, readonly Claim[], string | null]>([
    ['nobody claims it', [], null],
    ['one member claims it', [['a', 1]], 'a'],
    [
      'one member claims it twice',
      [
        ['a', 1],
        ['a', 1],
      ],
      'a',
    ],
    [
      'the newer claim holds',
      [
        ['a', 2],
        ['b', 1],
      ],
      'a',
    ],
    [
      'two claims of one generation cancel each other',
      [
        ['a', 1],
        ['b', 1],
      ],
      null,
    ],
    [
      'and an older one does not profit',
      [
        ['a', 2],
        ['b', 2],
        ['c', 1],
      ],
      null,
    ],
    [
      'a newer one settles it',
      [
        ['a', 1],
        ['b', 1],
        ['c', 2],
      ],
      'c',
    ],
  ])('%s', (_case, claims, owner) => {
    expect(ownerAfter(...claims)).toBe(owner);
    expect(ownerAfter(...[...claims].reverse())).toBe(owner);
  });

  it('other partitions and topics are not touched', () => {
    const owners = new PreviousOwners();
    owners.claim('a', 1, { topic: 't', partition: 0 });
    expect([owners.ownerOf('t', 1), owners.ownerOf('u', 0)]).toEqual([null, null]);
  });
});
