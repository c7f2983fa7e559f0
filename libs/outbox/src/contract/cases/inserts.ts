import assert from 'node:assert/strict';
import { EventStatus } from '../../model/event-status.js';
import { MAX_PAYLOAD_BYTES } from '../../model/payload.js';
import type { StoreContractFixture } from '../fixture.js';
import { START, type DefineCase } from '../store-case.js';

export function insertCases(it: DefineCase, { binaryPayloads }: StoreContractFixture): void {
  it('writes a NEW row with every field of the envelope', async (test) => {
    const event = test.event('e1', {
      aggregateType: 'ORDER',
      aggregateId: 'a-1',
      tenantId: 't-1',
      headers: { 'x-trace': 'ü "quoted"' },
    });
    await test.insert(event);
    const row = await test.row('e1');
    assert.deepEqual(
      { ...row, payload: JSON.parse(row.payload as string), headersJson: undefined },
      {
        ...row,
        eventType: 'CREATED',
        aggregateType: 'ORDER',
        aggregateId: 'a-1',
        tenantId: 't-1',
        payload: { id: 'e1' },
        headersJson: undefined,
        status: EventStatus.NEW,
        attempts: 0,
        availableAt: START,
        createdAt: START,
        doneAt: null,
        lastError: null,
        lockedBy: null,
        lockedAt: null,
      },
    );
    assert.deepEqual(JSON.parse(row.headersJson ?? ''), { 'x-trace': 'ü "quoted"' });
  });

  it('writes null for headers, aggregate id and tenant that are not set', async (test) => {
    await test.insert('e1');
    const { headersJson, aggregateId, tenantId } = await test.row('e1');
    assert.deepEqual([headersJson, aggregateId, tenantId], [null, null, null]);
  });

  it('accepts a payload of exactly the largest size', async (test) => {
    const payloadJson = JSON.stringify('x'.repeat(MAX_PAYLOAD_BYTES - 2));
    await test.insert(test.event('e1', { payloadJson }));
    const { payload } = await test.row('e1');
    assert.equal(JSON.parse(payload as string).length, MAX_PAYLOAD_BYTES - 2);
  });

  it('shows rows to others only after the commit', async (test) => {
    const transaction = await test.database.begin();
    await test.store.insertAll(transaction.connection, [test.event('e1'), test.event('e2')]);
    assert.deepEqual(await test.poll(), []);
    await transaction.commit();
    assert.deepEqual(await test.poll(), ['e1', 'e2']);
  });

  it('leaves nothing after a rollback', async (test) => {
    const transaction = await test.database.begin();
    await test.store.insertAll(transaction.connection, [test.event('e1'), test.event('e2')]);
    await transaction.rollback();
    assert.deepEqual(await test.database.readAll(), []);
  });

  it('accepts an empty list', async (test) => {
    const transaction = await test.database.begin();
    await test.store.insertAll(transaction.connection, []);
    await transaction.commit();
    assert.deepEqual(await test.database.readAll(), []);
  });

  if (binaryPayloads)
    it('keeps every byte of a binary payload', async (test) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      await test.insert(test.event('e1', { payloadBinary: bytes }));
      const { payload } = await test.row('e1');
      assert.deepEqual(new Uint8Array(payload as Uint8Array), bytes);
    });
}
