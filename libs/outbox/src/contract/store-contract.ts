import { claimCases } from './cases/claims.js';
import { deadEventCases } from './cases/dead-events.js';
import { blockedKeyInspectionCases, inspectionCases } from './cases/inspection.js';
import { insertCases } from './cases/inserts.js';
import { leaseCases } from './cases/leases.js';
import { orderCases } from './cases/order.js';
import { outcomeCases } from './cases/outcomes.js';
import { purgeCases } from './cases/purge.js';
import type { StoreContractFixture, TestFramework } from './fixture.js';
import { type DefineCase, StoreCase } from './store-case.js';

/**
 * The tests that every store of the outbox passes. Call it in a test file with `describe` and `it`
 * of your test framework.
 */
export function storeContract(
  { describe, it }: TestFramework,
  fixture: StoreContractFixture,
): void {
  const define: DefineCase = (name, run) => {
    it(name, async () => {
      const database = await fixture.open();
      try {
        await run(new StoreCase(database));
      } finally {
        await database.close();
      }
    });
  };
  describe('insert', () => insertCases(define, fixture));
  describe('markDone, markRetry and markDead', () => outcomeCases(define));
  describe('pollPending and claimPending', () => claimCases(define));
  describe('dead events', () => deadEventCases(define));
  describe('purgers', () => purgeCases(define, fixture));
  if (fixture.inspected) describe('inspection', () => inspectionCases(define));
  if (!fixture.leased) return;
  describe('leases', () => leaseCases(define));
  describe('order per key', () => orderCases(define));
  if (fixture.inspected) describe('inspection of keys', () => blockedKeyInspectionCases(define));
}
