import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { Business } from './business.js';
import { Ledger } from './ledger.js';

const folder = process.env['DATABASES'] ?? '.';
const registry = new Registry();
const orders = await Ledger.open('orders', join(folder, 'orders.db'), registry);
const invoices = await Ledger.open('invoices', join(folder, 'invoices.db'), registry);
const business = new Business(orders, invoices);

for (const id of ['o-1', 'o-2', 'o-3']) await business.place(id);
await business
  .placeWithWrongWriter('o-4')
  .catch((error: Error) => console.log(`refused: ${error.message}`));

const isInvoiced = (row: unknown): boolean => (row as { state: string }).state === 'invoiced';
while (!(await orders.rows()).every(isInvoiced)) await pause(50);

for (const ledger of [orders, invoices]) {
  console.log(`${ledger.name}: ${JSON.stringify(await ledger.rows())}`);
  // Waits for the events in work, so that the metrics have them.
  await ledger.close();
}
const metrics = await registry.metrics();
console.log(
  metrics
    .split('\n')
    .filter((line) => line.includes('dispatch_success_total '))
    .join('\n'),
);
