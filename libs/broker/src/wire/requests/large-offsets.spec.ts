import type { MemberIdentity } from './group-requests.js';
import { offsetCommitRequest, offsetFetchRequest } from './offset-requests.js';
import { Reader } from './reader.js';
import { Writer } from './writer.js';

/** Offsets around the limits of 32 bits, and far beyond them. */
const OFFSETS = [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 3, 2 ** 53 - 1] as const;

const bytesOf = (offset: number): string => offset.toString(16).padStart(16, '0');

describe('An offset beyond 32 bits', () => {
  it.each([-1, 0, ...OFFSETS])('is read as it was written: %d', (offset) => {
    expect(new Reader(new Writer().int64(offset).toBuffer()).int64()).toBe(offset);
  });

  it.each(OFFSETS)('is committed with all its bits: %d', async (offset) => {
    const member: MemberIdentity = { groupId: 'g', generation: 1, memberId: 'm' };
    const request = offsetCommitRequest(member, [{ topic: 't', partition: 0, offset }]);
    expect((await request.encode(7)).toString('hex')).toContain(bytesOf(offset));
  });

  it.each(OFFSETS)('is fetched with all its bits: %d', async (offset) => {
    const partition = `00000000${bytesOf(offset)}ffffffff00000000`;
    const answer = Buffer.from(`00000000020274` + `02${partition}0000` + `000000`, 'hex');
    const { offsets } = await offsetFetchRequest('g', 'all').decode(answer, 7);
    expect(offsets.map(({ committed }) => committed?.offset)).toEqual([offset]);
  });
});
