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

describe('memberProtocols', () => {
  it('keeps the order of preference of the assignors', () => {
    const joining = { assignors, topics: ['orders'], previous: null, held: null };
    expect(memberProtocols(joining).map(({ name }) => name)).toEqual([...assignors]);
  });

  it('sends the owned partitions to a cooperative leader, and the previous assignment to a sticky leader', () => {
    const { range, sticky, 'cooperative-sticky': cooperative } = offered(claim);
    expect(cooperative).toMatchObject({ owned: claim.partitions, generation: 4 });
    expect(range).toMatchObject({ owned: [], generation: NO_GENERATION, userData: null });
    expect(sticky).toMatchObject({ owned: [] });
    expect(decodeStickyUserData(sticky?.userData ?? null)).toEqual(claim);
  });

  it('names no owned partitions if the member has revoked all of them', () => {
    expect(offered(null)['cooperative-sticky']).toMatchObject({
      owned: [],
      generation: NO_GENERATION,
    });
  });
});
