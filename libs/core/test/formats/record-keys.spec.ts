import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Key } from '../../src/discovery/decorators/parameters.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import type { Deserializer } from '../../src/model/extension-points/deserializer.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const NUMBER = Buffer.from([0, 0, 0, 42]);
/** Two keys that are the same text if they are decoded as UTF-8. */
const ONE = Buffer.from([0xff, 0x61]);
const OTHER = Buffer.from([0xfe, 0x61]);

let testBus: TestBus;
let records: EventRecord<unknown, unknown>[];
let handle: (record: EventRecord<unknown, unknown>) => unknown;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(record: EventRecord<unknown, unknown>): unknown {
    records.push(record);
    return handle(record);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  records = [];
  handle = () => undefined;
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const start = (properties: object = {}) =>
  testBus.startOrders([Orders], { retry: { tiers: [], tier0: { maxAttempts: 1 } }, ...properties });

const write = (...keys: readonly (string | Buffer | null)[]) =>
  testBus.write('orders', ...keys.map((key) => ({ key, value: '1' })));

const keys = () => records.map(({ key }) => key);
const letters = async () => (await testBus.records('orders.DLT')).map(readDeadLetter);

describe('The key of a record', () => {
  it('is text or, if its bytes are no text, a Buffer', async () => {
    await start();
    await write('customer-7', null, '', NUMBER, ONE, OTHER);
    expect(keys()).toEqual(['customer-7', null, '', NUMBER, ONE, OTHER]);
  });

  it('is a copy: a handler that writes into it changes no dead letter', async () => {
    await start();
    handle = ({ key }) => {
      (key as Buffer).fill(7);
      throw new Error('no');
    };
    await write(NUMBER);
    expect((await letters()).map(({ key }) => key)).toEqual([NUMBER]);
    expect(keys()).toEqual([Buffer.alloc(4, 7)]);
  });

  it('is printed as text or base64, whatever it was decoded to', async () => {
    await start({ keyDeserializer: 'json' });
    await write('7', null);
    await start({ keyDeserializer: 'raw', groupId: 'other' });
    await write(ONE);
    const printed = records.map((record) => record.toJSON()['key']);
    expect(printed).toEqual(expect.arrayContaining(['7', null, 'base64:/2E=']));
  });

  it('is injected by @Key(), and has pipes', async () => {
    const injected: unknown[] = [];
    @Injectable()
    class ByKey {
      @EventHandler('orders')
      onOrder(
        @Key() key: Buffer,
        @Key({ transform: (given: Buffer) => given.readInt32BE() }) number: number,
      ): void {
        injected.push(key, number);
      }
    }
    await testBus.startOrders([ByKey], { keyDeserializer: 'raw' });
    await write(NUMBER);
    expect(injected).toEqual([NUMBER, 42]);
  });
});

describe('keyDeserializer', () => {
  const int32: Deserializer = { name: 'int32', deserialize: (bytes) => bytes.readInt32BE() };
  const later: Deserializer = {
    name: 'later',
    deserialize: async (bytes) => `later ${bytes.length}`,
  };

  it.each<[unknown, string | Buffer, unknown]>([
    ['auto', 'a', 'a'],
    ['text', 'a', 'a'],
    ['raw', 'a', Buffer.from('a')],
    ['json', '{"id":7}', { id: 7 }],
    [int32, NUMBER, 42],
    [later, NUMBER, 'later 4'],
  ])(
    '%p decodes the key of a record, and null stays null',
    async (keyDeserializer, key, decoded) => {
      await start({ keyDeserializer });
      await write(key, null);
      expect(keys()).toEqual([decoded, null]);
    },
  );

  it.each<[unknown, Buffer, string, string | undefined]>([
    ['text', NUMBER, 'text', 'its bytes are not UTF-8, or they hold control characters'],
    ['text', ONE, 'text', 'its bytes are not UTF-8, or they hold control characters'],
    ['json', Buffer.from('{'), 'JSON', 'the parser refused it'],
    [int32, Buffer.from([1]), 'int32', undefined],
  ])(
    '%p dead-letters a record whose key it cannot decode, with its bytes and without a call',
    async (keyDeserializer, key, format, reason) => {
      await start({ keyDeserializer });
      await write(key, NUMBER.equals(key) ? 'good' : null);
      const [letter, ...others] = await letters();
      expect(others).toEqual([]);
      expect(letter).toMatchObject({ dltCause: 'deserialization', key });
      expect(letter!.deserialization).toMatchObject({ part: 'key', format, reason });
      expect(records).toHaveLength(1);
    },
  );

  it('makes the record wait if another attempt can help', async () => {
    let calls = 0;
    const registry: Deserializer = {
      name: 'mine',
      deserialize: () => {
        calls += 1;
        if (calls < 3) throw new SchemaRegistryUnavailableException('it does not answer');
        return 'key';
      },
    };
    await start({ keyDeserializer: registry });
    await write(NUMBER);
    await testBus.runtime.advance(60_000);
    expect([keys(), await letters()]).toEqual([['key'], []]);
  });

  it('gives the handler of a batch the keys of its records', async () => {
    const found: unknown[] = [];
    @Injectable()
    class InBatches {
      @EventHandler.Batch('orders')
      onOrders(batch: readonly EventRecord<unknown, Buffer>[]): void {
        found.push(...batch.map(({ key }) => key));
      }
    }
    await testBus.startOrders([InBatches], { listenerType: 'BATCH', keyDeserializer: 'raw' });
    await write(ONE, OTHER, null);
    await testBus.runtime.advance(1_000);
    expect(found).toEqual([ONE, OTHER, null]);
  });

  it('does not decide which records keep their order: that is the bytes of the key', async () => {
    const ends: (() => void)[] = [];
    handle = () => new Promise<void>((resolve) => ends.push(resolve));
    const same: Deserializer = { name: 'same', deserialize: () => 'same' };
    await start({ keyDeserializer: same, processing: { by: 'key' } });
    await write(ONE, OTHER, ONE);
    expect(records).toHaveLength(2);
    for (const end of ends.splice(0)) end();
    await testBus.runtime.advance(100);
    expect(records.map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
    for (const end of ends.splice(0)) end();
  });
});
