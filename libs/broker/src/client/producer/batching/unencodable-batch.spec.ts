import { gzip } from '../../../records/codecs/gzip.js';
import {
  failureOf,
  producerOn,
  states,
  type LoggedLine,
} from '../producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from '../scripted-produce-cluster.spec-support.js';

describe('batch that cannot be encoded', () => {
  it('fails alone and at once as not written, because it is never sent', async () => {
    const cluster = new ScriptedProduceCluster();
    const lines: LoggedLine[] = [];
    const producer = producerOn(cluster, { compression: 'gzip' }, lines);
    const compress = jest.spyOn(gzip, 'compress').mockImplementationOnce(() => {
      throw new RangeError('out of memory');
    });
    const sending = producer.send([
      { topic: 'orders', partition: 0, value: 'a' },
      { topic: 'orders', partition: 1, value: 'b' },
    ]);
    const ending = failureOf(sending);
    await cluster.runtime.advance(100);
    const error = await ending;
    compress.mockRestore();
    expect(states(error)).toEqual(['not-written', 'written']);
    expect(error).toMatchObject({
      retriable: false,
      message: expect.stringContaining('Reason: RangeError.'),
    });
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    const next = producer.send([{ topic: 'orders', partition: 0, value: 'c' }]);
    await cluster.runtime.advance(100);
    expect(await next).toMatchObject([{ offset: 0 }]);
    expect(cluster.log('orders', 0)).toEqual(['c']);
    await producer.close();
  });

  it('is not retried, and causes no request if there is no other batch', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { compression: 'gzip' });
    const compress = jest.spyOn(gzip, 'compress').mockImplementationOnce(() => {
      throw new RangeError('out of memory');
    });
    const ending = failureOf(producer.send([{ topic: 'orders', partition: 0, value: 'a' }]));
    await cluster.runtime.advance(100);
    expect(states(await ending)).toEqual(['not-written']);
    expect(compress).toHaveBeenCalledTimes(1);
    compress.mockRestore();
    expect(cluster.produceRequests).toEqual([]);
    await producer.close();
  });
});
