// npm run bench -- observability [throughput] [tracing]: what it costs to see everything. `throughput`
// compares an application that measures, scrapes and traces with one that has all of it switched
// off, on one broker. `tracing` measures the time per record that a tracer takes without a broker.
import { join } from 'node:path';
import { observedThroughputBench } from './parts/observability/throughput.mjs';
import { tracingBench } from './parts/observability/tracing.mjs';
import { Table } from './support/table.mjs';

const parts = { tracing: tracingBench, throughput: observedThroughputBench };
const chosen = process.argv.slice(2).filter((name) => !name.startsWith('-'));
const table = new Table('observability');
for (const [name, part] of Object.entries(parts))
  if (chosen.length === 0 || chosen.includes(name)) await part({ table });
table.write(join(import.meta.dirname, 'results'));
