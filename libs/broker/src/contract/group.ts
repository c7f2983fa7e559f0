import type { Member, MemberOptions } from './member.js';
import type { World } from './world.js';

/** So many members of one group, each in a process of its own, joining at the same time. */
export async function joinTogether(
  world: World,
  count: number,
  options: MemberOptions,
): Promise<Member[]> {
  const groupId = options.groupId ?? world.name('group');
  const members: Member[] = [];
  for (let index = 0; index < count; index++) {
    const driver = index === 0 ? world.driver : await world.process();
    members.push(world.member({ ...options, groupId, driver }));
  }
  await Promise.all(members.map((member) => member.start()));
  return members;
}

/** Waits until these members are stable and own exactly these partitions between them, each once. */
export async function sharedOut(
  world: World,
  members: readonly Member[],
  partitions: readonly string[],
): Promise<void> {
  const expected = [...partitions].sort().join(' ');
  const shared = (): boolean => {
    const owned = members.flatMap((member) => member.owned());
    const inOneGeneration = new Set(members.map(({ session }) => session.generation)).size === 1;
    const settled = inOneGeneration && members.every((member) => member.isStable());
    return settled && owned.sort().join(' ') === expected && everyMemberServed(members, partitions);
  };
  const what = `${members.length} members share ${partitions.length} partitions`;
  await world.eventually(what, shared, () => members.map((each) => each.describe()).join('\n'));
}

/** While a member has just joined another may still own all: that is exactly once, but not the end. */
function everyMemberServed(members: readonly Member[], partitions: readonly string[]): boolean {
  const served = members.filter((member) => member.owned().length > 0).length;
  return served >= Math.min(members.length, partitions.length);
}
