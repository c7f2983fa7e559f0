import { BatchHeader } from './batch-header.js';
import { openRecords } from './record-decoder.js';
import { standardCodecs } from '../codecs.js';
import { encodeControlBatch, readControlType } from './control-batch.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { RecordBatchWriter } from './record-batch-writer.js';

const limits = { codecs: standardCodecs, maxInflatedBytes: 1024 };

describe('control batches', () => {
  it.each(['abort', 'commit'] as const)(
    'a marker contains %s and the producer whose transaction ends',
    (type) => {
      const marker = encodeControlBatch(type, {
        producerId: 2n ** 62n,
        producerEpoch: 7,
        timestamp: 1000,
      });
      const header = new BatchHeader(marker);
      expect(header.isControl && header.isTransactional && header.isCrcRight()).toBe(true);
      expect(header).toMatchObject({
        producerId: 2n ** 62n,
        producerEpoch: 7,
        baseSequence: -1,
        count: 1,
        maxTimestamp: 1000,
      });
      expect(readControlType(openRecords(header, limits))).toBe(type);
    },
  );

  it('encodes an end marker to the same bytes as a Kafka coordinator', () => {
    const marker = encodeControlBatch('commit', {
      producerId: 1n,
      producerEpoch: 0,
      timestamp: 0,
      coordinatorEpoch: 3,
    });
    // The fields are: length 16, attributes, deltas, key of 4 bytes (version 0, type 1), value of 6
    // bytes (version 0, epoch 3), no headers.
    expect(marker.subarray(61).toString('hex')).toBe(
      '20000000' + '0800000001' + '0c000000000003' + '00',
    );
  });

  it('decodeEndMarker returns undefined for control batches of other kinds', () => {
    const writer = new RecordBatchWriter();
    writer.append({ key: Buffer.from([0, 0, 0, 2]), value: null }, 0);
    const header = new BatchHeader(writer.finish({ control: true }));
    expect(readControlType(openRecords(header, limits))).toBeUndefined();
  });

  it('a key that is too short is rejected', () => {
    const writer = new RecordBatchWriter();
    writer.append({ key: Buffer.from([0, 0]), value: null }, 0);
    const header = new BatchHeader(writer.finish({ control: true }));
    expect(() => readControlType(openRecords(header, limits))).toThrow(MalformedBytesError);
  });
});
