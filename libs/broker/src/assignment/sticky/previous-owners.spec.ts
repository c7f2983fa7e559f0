import { PreviousOwners } from './previous-owners.js';

type Claim = readonly [memberId: string, generation: number];

function ownerAfter(...claims: readonly Claim[]): string | null {
  const owners = new PreviousOwners();
  for (const [memberId, generation] of claims)
    owners.claim(memberId, generation, { topic: 't', partition: 0 });
  return owners.ownerOf('t', 0);
}

describe('PreviousOwners', () => {
  it.each<[string, readonly Claim[], string | null]>([
    ['no owner without a claim', [], null],
    ['the only claimant is the owner', [['a', 1]], 'a'],
    [
      'a repeated claim of one member counts once',
      [
        ['a', 1],
        ['a', 1],
      ],
      'a',
    ],
    [
      'the claim of the newer generation wins',
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
      'an older claim does not win over two newer claims that cancel each other',
      [
        ['a', 2],
        ['b', 2],
        ['c', 1],
      ],
      null,
    ],
    [
      'a newer claim wins over two older claims that cancel each other',
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

  it('a claim does not change other partitions and topics', () => {
    const owners = new PreviousOwners();
    owners.claim('a', 1, { topic: 't', partition: 0 });
    expect([owners.ownerOf('t', 1), owners.ownerOf('u', 0)]).toEqual([null, null]);
  });
});
