import { producerIdRequest } from './producer-id-request.js';
import { Writer } from './writer.js';

describe('producerIdRequest()', () => {
  it.each([
    [2, '00' + '7fffffff' + '00'],
    [3, '00' + '7fffffff' + 'ffffffffffffffff' + 'ffff' + '00'],
    [4, '00' + '7fffffff' + 'ffffffffffffffff' + 'ffff' + '00'],
  ])('names neither a transactional id nor a producer id, version %i', async (version, bytes) => {
    expect((await producerIdRequest().encode(version)).toString('hex')).toBe(bytes);
  });

  it('reads a producer id of 64 bits', () => {
    const producerId = 2n ** 62n + 1n;
    const answer = new Writer().int32(0).int16(0).int64(producerId).int16(3).noTags().toBuffer();
    expect(producerIdRequest().decode(answer, 3)).toEqual({
      code: 0,
      producerId,
      producerEpoch: 3,
    });
  });
});
