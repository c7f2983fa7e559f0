import { decodeSubscription, NO_GENERATION } from './consumer-protocol.js';
import { memberProtocols } from './member-protocols.js';
import { decodeStickyUserData } from './sticky-user-data.js';

const claim = { partitions: [{ topic: 'orders', partition: 1 }], generation: 4 };
const assignors = ['range', 'cooperative-sticky', 'sticky'] as const;

const offered = (held: typeof claim | null) =>
  Object.fromEntries(
    memberProtocols({ assignors, topics: ['orders'], previous: claim, held }).map(
      ({ name, metadata }) => [name, decodeSubscription(metadata)],
    ),
  );

describe('what a member offers', () => {
  it('is in the order of preference', () => {
    const joining = { assignors, topics: ['orders'], previous: null, held: null };
    expect(memberProtocols(joining).map(({ name }) => name)).toEqual([...assignors]);
  });

  it('tells a cooperative leader what it holds, and an eager one what it had', () => {
    const { range, sticky, 'cooperative-sticky': cooperative } = offered(claim);
    expect(cooperative).toMatchObject({ owned: claim.partitions, generation: 4 });
    expect(range).toMatchObject({ owned: [], generation: NO_GENERATION, userData: null });
    expect(sticky).toMatchObject({ owned: [] });
    expect(decodeStickyUserData(sticky?.userData ?? null)).toEqual(claim);
  });

  it('claims nothing that was handed back', () => {
    expect(offered(null)['cooperative-sticky']).toMatchObject({
      owned: [],
      generation: NO_GENERATION,
    });
  });
});
