import { gzip } from '../../../records/codecs/gzip.js';
import { failureOf, producerOn, states, type LoggedLine } from '../producer-on.spec-support.js';
import { ScriptedCluster } from '../scripted-cluster.spec-support.js';

describe('a batch that cannot be encoded', () => {
  it('was never sent: it fails alone and at once, as not written', async () => {
    const cluster = new ScriptedCluster();
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
      message: expect.stringContaining('out of memory'),
    });
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    const next = producer.send([{ topic: 'orders', partition: 0, value: 'c' }]);
    await cluster.runtime.advance(100);
    expect(await next).toMatchObject([{ offset: 0 }]);
    expect(cluster.log('orders', 0)).toEqual(['c']);
    await producer.close();
  });

  it('is not tried again, and no request is sent, when it is alone', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster, { compression: 'gzip' });
    const compress = jest.spyOn(gzip, 'compress').mockImplementationOnce(() => {
      throw new RangeError('out of memory');
    });
    const ending = failureOf(producer.send([{ topic: 'orders', partition: 0, value: 'a' }]));
    await cluster.runtime.advance(100);
    expect(states(await ending)).toEqual(['not-written']);
    expect(compress).toHaveBeenCalledTimes(1);
    compress.mockRestore();
    expect(cluster.asked).toEqual([]);
    await producer.close();
  });
});
