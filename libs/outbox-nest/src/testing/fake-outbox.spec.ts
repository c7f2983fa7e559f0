import { type EventEnvelope, OutboxWriter } from '@nest-event-bus/outbox';
import { Inject, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Inbox, OutboxListener, OutboxTransactions } from '../index.js';
import { FakeOutbox } from './index.js';

/** Whatever the application uses as its database. */
const database = { name: 'a mock' };

@Injectable()
class Orders {
  readonly seen: string[] = [];
  failure: Error | undefined;

  constructor(
    @Inject(OutboxTransactions) private readonly transactions: OutboxTransactions,
    @Inject(OutboxWriter) private readonly writer: OutboxWriter,
    @Inject(Inbox) private readonly inbox: Inbox,
  ) {}

  place(id: string, failure?: Error): Promise<void> {
    return this.transactions.transaction(database, async () => {
      await this.writer.write('PLACED', JSON.stringify(id));
      if (failure) throw failure;
    });
  }

  pay(messageId: string, failure?: Error): Promise<{ readonly kind: string }> {
    return this.inbox.handle(database, { consumer: 'shop', messageId }, async () => {
      await this.writer.write('PAID', JSON.stringify(messageId));
      if (failure) throw failure;
    });
  }

  @OutboxListener({ event: 'PLACED' })
  onPlaced({ payloadJson }: EventEnvelope): void {
    if (this.failure) throw this.failure;
    this.seen.push(String(payloadJson));
  }
}

describe('FakeOutbox', () => {
  let outbox: FakeOutbox;
  let app: TestingModule;
  let orders: Orders;
  beforeEach(async () => {
    outbox = new FakeOutbox();
    app = await Test.createTestingModule({
      imports: [outbox.module()],
      providers: [Orders],
    }).compile();
    await app.init();
    orders = app.get(Orders);
  });
  afterEach(() => app.close());

  const written = (): readonly (string | null)[] =>
    outbox.written.map(({ payloadJson }) => payloadJson);

  it('records what committed transactions have written, and nothing of others', async () => {
    await orders.place('a');
    await expect(orders.place('lost', new Error('no'))).rejects.toThrow('no');
    expect(written()).toEqual(['"a"']);
  });

  it('keeps the events of a nested call that was rolled back out', async () => {
    await outbox.transactions.transaction(database, async () => {
      await outbox.writer.write('PLACED', '1');
      await outbox.transactions
        .transaction(database, async () => {
          await outbox.writer.write('PLACED', '2');
          throw new Error('no');
        })
        .catch(() => undefined);
      expect(written()).toEqual([]);
    });
    expect(written()).toEqual(['1']);
  });

  it('refuses to write outside a transaction', async () => {
    await expect(outbox.writer.write('PLACED', '1')).rejects.toMatchObject({
      code: 'OUTBOX_TRANSACTION_REQUIRED',
    });
    await outbox.transactions.writerFor({}).write('PLACED', '1');
    expect(written()).toEqual(['1']);
  });

  it('plays decorated and registered listeners, once', async () => {
    outbox.on('PAID', ({ payloadJson }) => void orders.seen.push(`paid ${payloadJson}`));
    await orders.place('a');
    await orders.pay('m1');
    expect(await outbox.play()).toMatchObject([{ error: null }, { error: null }]);
    expect(orders.seen).toEqual(['"a"', 'paid "m1"']);
    expect(await outbox.play()).toEqual([]);
  });

  it('plays an event again whose listener has failed, or which is delivered again', async () => {
    orders.failure = new Error('no');
    await orders.place('a');
    const [failed] = await outbox.play();
    expect(failed?.error).toBe(orders.failure);
    expect(outbox.waiting).toHaveLength(1);
    orders.failure = undefined;
    await outbox.play();
    outbox.deliverAgain(failed?.event.eventId ?? '');
    await outbox.play();
    expect(orders.seen).toEqual(['"a"', '"a"']);
  });

  it('names an event without a listener', async () => {
    await orders.pay('m1');
    const [played] = await outbox.play();
    expect(played?.error).toMatchObject({ code: 'OUTBOX_EVENT_UNROUTABLE' });
  });

  it('lets writes and commits fail on demand', async () => {
    outbox.failWrites(new Error('database gone'), 2);
    await expect(orders.place('a')).rejects.toThrow('database gone');
    await expect(orders.place('a')).rejects.toThrow('database gone');
    outbox.failCommits(new Error('serialization failure'));
    await expect(orders.place('a')).rejects.toThrow('serialization failure');
    expect(written()).toEqual([]);
    await orders.place('b');
    expect(written()).toEqual(['"b"']);
  });

  it('has an inbox, which forgets a message whose handler has failed', async () => {
    await expect(orders.pay('m1', new Error('no'))).rejects.toThrow('no');
    expect((await orders.pay('m1')).kind).toBe('handled');
    expect((await orders.pay('m1')).kind).toBe('duplicate');
    expect(written()).toEqual(['"m1"']);
  });

  it('claims a message in a transaction that the application has begun itself', async () => {
    const inbox = app.get(Inbox);
    const message = { consumer: 'shop', messageId: 'm1' };
    expect(await inbox.claim(database, message)).toBe(true);
    expect(await inbox.claim(database, message)).toBe(false);
  });

  it('forgets everything', async () => {
    await orders.pay('m1');
    outbox.failWrites(new Error('no'));
    outbox.failCommits(new Error('no'));
    outbox.reset();
    expect([outbox.written, outbox.waiting]).toEqual([[], []]);
    expect((await orders.pay('m1')).kind).toBe('handled');
  });
});
