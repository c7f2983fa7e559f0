import fc from 'fast-check';
import { decodeStickyUserData, encodeStickyUserData } from './sticky-user-data.js';

/** The bytes that StickyAssignor of the Java client 4.1.1 writes after generation 5. */
const java =
  '0000000200056175646974000000010000000100066f726465727300000002000000000000000200000005';
const previous = {
  partitions: [
    { topic: 'audit', partition: 1 },
    { topic: 'orders', partition: 0 },
    { topic: 'orders', partition: 2 },
  ],
  generation: 5,
};

describe('sticky user data', () => {
  it('is null before the first assignment', () => {
    expect(encodeStickyUserData(null)).toBeNull();
  });

  it('has the same bytes as Java', () => {
    expect(encodeStickyUserData(previous)?.toString('hex')).toBe(java);
    expect(decodeStickyUserData(Buffer.from(java, 'hex'))).toEqual(previous);
  });

  it('is decoded without a generation, as older clients encode it', () => {
    const older = Buffer.from(java, 'hex').subarray(0, -4);
    expect(decodeStickyUserData(older)).toEqual({ ...previous, generation: -1 });
  });

  it.each([
    ['null', null],
    ['zero bytes, as kafkajs writes nothing', Buffer.alloc(0)],
    ['garbage', Buffer.from('garbage')],
    ['half a generation', Buffer.from(java, 'hex').subarray(0, -2)],
  ])('contains no claim if it is %s', (_case, bytes) => {
    expect(decodeStickyUserData(bytes)).toBeNull();
  });

  it('never throws when decoded', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        decodeStickyUserData(Buffer.from(bytes));
      }),
    );
  });
});
