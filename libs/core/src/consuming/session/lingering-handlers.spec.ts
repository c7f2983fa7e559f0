import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from '../lanes/lane-delivery.js';
import { LingeringHandlers, type HandlerOwner } from './lingering-handlers.js';
import { recordsOf } from './lane-test-bed.spec-support.js';

const deliver = (): LaneDelivery =>
  new LaneDelivery(recordsOf(0)[0]!, FIRST_DELIVERY, 0, 0, undefined);

const sessionWith = (partition: string, delivery: LaneDelivery): HandlerOwner => ({
  runningOn: (asked) => (asked === partition ? [delivery] : []),
});

describe('LingeringHandlers', () => {
  it('contains handlers that outlived their assignment, until they end', async () => {
    const handlers = new LingeringHandlers();
    const delivery = deliver();
    handlers.add('t-0', [delivery]);
    expect([handlers.of('t-0'), handlers.of('t-1')]).toEqual([[delivery], []]);
    delivery.end();
    await delivery.whenEnded();
    expect(handlers.of('t-0')).toEqual([]);
  });

  it('contains handlers of a session that does not know yet that it lost the partition', () => {
    const handlers = new LingeringHandlers();
    const delivery = deliver();
    const loser = sessionWith('t-0', delivery);
    const leave = handlers.register(loser);
    expect(handlers.of('t-0', sessionWith('t-0', deliver()))).toEqual([delivery]);
    expect(handlers.of('t-1')).toEqual([]);
    expect(handlers.of('t-0', loser)).toEqual([]);
    leave();
    expect(handlers.of('t-0')).toEqual([]);
  });

  it('is shared by all containers that read the same partitions in the same group', () => {
    const process = new LingeringHandlers();
    const delivery = deliver();
    process.within('default shop').add('t-0', [delivery]);
    expect(process.within('default shop').of('t-0')).toEqual([delivery]);
    expect(process.within('default audit').of('t-0')).toEqual([]);
  });
});
