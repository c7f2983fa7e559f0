import type { Member, MemberOptions } from './member.js';
import type { CaseContext } from './case-context.js';

/** Starts so many members of one group at the same time, each in its own process. */
export async function joinTogether(
  context: CaseContext,
  count: number,
  options: MemberOptions,
): Promise<Member[]> {
  const groupId = options.groupId ?? context.name('group');
  const members: Member[] = [];
  for (let index = 0; index < count; index++) {
    const driver = index === 0 ? context.driver : await context.newProcess();
    members.push(context.member({ ...options, groupId, driver }));
  }
  await Promise.all(members.map((member) => member.start()));
  return members;
}

/** Waits until these members are stable and together own exactly these partitions, each once. */
export async function waitUntilShared(
  context: CaseContext,
  members: readonly Member[],
  partitions: readonly string[],
): Promise<void> {
  const expected = [...partitions].sort().join(' ');
  const shared = (): boolean => {
    const owned = members.flatMap((member) => member.owned());
    const inOneGeneration = new Set(members.map(({ session }) => session.generation)).size === 1;
    const settled = inOneGeneration && members.every((member) => member.isStable());
    return (
      settled &&
      owned.sort().join(' ') === expected &&
      everyMemberHasPartitions(members, partitions)
    );
  };
  const what = `${members.length} members share ${partitions.length} partitions`;
  await context.eventually(what, shared, () => members.map((each) => each.describe()).join('\n'));
}

/**
 * Returns whether every member has partitions, as far as there are enough. Right after a join one
 * member may still own all of them, which is not the final state.
 */
function everyMemberHasPartitions(
  members: readonly Member[],
  partitions: readonly string[],
): boolean {
  const served = members.filter((member) => member.owned().length > 0).length;
  return served >= Math.min(members.length, partitions.length);
}
