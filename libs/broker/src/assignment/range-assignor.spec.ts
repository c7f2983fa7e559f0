import { RangeAssignor } from './range-assignor.js';
import type { AssignorMember } from './assignor.js';
import { NO_GENERATION } from './protocol/consumer-protocol.js';

const member = (
  memberId: string,
  topics: string[],
  instanceId: string | null = null,
): AssignorMember => ({
  memberId,
  instanceId,
  topics,
  userData: null,
  owned: [],
  generation: NO_GENERATION,
  rack: null,
});

function assign(
  members: readonly AssignorMember[],
  partitionsOf: Record<string, number>,
): Record<string, string> {
  const plan = new RangeAssignor().assign({
    members,
    partitionsOf: new Map(Object.entries(partitionsOf)),
  });
  return Object.fromEntries(
    [...plan].map(([memberId, share]) => [
      memberId,
      share.map(({ topic, partition }) => `${topic}-${partition}`).join(' '),
    ]),
  );
}

describe('RangeAssignor', () => {
  it.each([
    ['one member without topics', [member('c', [])], { t1: 3 }, { c: '' }],
    ['a topic that does not exist', [member('c', ['t1'])], {}, { c: '' }],
    ['a topic without partitions', [member('c', ['t1'])], { t1: 0 }, { c: '' }],
    ['one member and one topic', [member('c', ['t1'])], { t1: 3 }, { c: 't1-0 t1-1 t1-2' }],
    [
      'only the topics subscribed to',
      [member('c', ['t1'])],
      { t1: 2, other: 2 },
      { c: 't1-0 t1-1' },
    ],
    [
      'two members and one partition',
      [member('c2', ['t1']), member('c1', ['t1'])],
      { t1: 1 },
      { c1: 't1-0', c2: '' },
    ],
    [
      'two topics of three partitions: the extra one of each goes to the first',
      [member('c1', ['t1', 't2']), member('c2', ['t1', 't2'])],
      { t1: 3, t2: 3 },
      { c1: 't1-0 t1-1 t2-0 t2-1', c2: 't1-2 t2-2' },
    ],
    [
      'a topic that a member lists twice, once',
      [member('c1', ['t1', 't1']), member('c2', ['t1'])],
      { t1: 4 },
      { c1: 't1-0 t1-1', c2: 't1-2 t1-3' },
    ],
    [
      'mixed topics',
      [member('c1', ['t1']), member('c2', ['t1', 't2']), member('c3', ['t1'])],
      { t1: 3, t2: 2 },
      { c1: 't1-0', c2: 't1-1 t2-0 t2-1', c3: 't1-2' },
    ],
    [
      'static members in the order of their instance ids, whatever their member ids',
      [member('c3', ['t1'], 'i1'), member('c1', ['t1'], 'i2')],
      { t1: 3 },
      { c3: 't1-0 t1-1', c1: 't1-2' },
    ],
    [
      'static members before dynamic ones',
      [member('a', ['t1']), member('b', ['t1']), member('z', ['t1'], 'i9')],
      { t1: 4 },
      { z: 't1-0 t1-1', a: 't1-2', b: 't1-3' },
    ],
    [
      'upper case before lower case',
      [member('a', ['t1']), member('B', ['t1'])],
      { t1: 3 },
      { B: 't1-0 t1-1', a: 't1-2' },
    ],
  ])('assigns as Java does: %s', (_case, members, partitionsOf, expected) => {
    expect(assign(members, partitionsOf)).toEqual(expected);
    expect(assign([...members].reverse(), partitionsOf)).toEqual(expected);
  });

  it('has no user data', () => {
    expect(new RangeAssignor().userData()).toBeNull();
  });
});
