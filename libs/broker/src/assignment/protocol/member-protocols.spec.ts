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
  it('keeps the order of preference', () => {
    const joining = { assignors, topics: ['orders'], previous: null, held: null };
    expect(memberProtocols(joining).map(({ name }) => name)).toEqual([...assignors]);
  });

  it('sends owned partitions to a cooperative leader, and the previous assignment to an eager leader', () => {
    const { range, sticky, 'cooperative-sticky': cooperative } = offered(claim);
    expect(cooperative).toMatchObject({ owned: claim.partitions, generation: 4 });
    expect(range).toMatchObject({ owned: [], generation: NO_GENERATION, userData: null });
    expect(sticky).toMatchObject({ owned: [] });
    expect(decodeStickyUserData(sticky?.userData ?? null)).toEqual(claim);
  });

  it('claims no partitions that were handed back', () => {
    expect(offered(null)['cooperative-sticky']).toMatchObject({
      owned: [],
      generation: NO_GENERATION,
    });
  });
});
