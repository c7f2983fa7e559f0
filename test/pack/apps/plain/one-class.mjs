import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { entryPoints } from './entry-points.cjs';

const require = createRequire(import.meta.url);

/** Two copies of a class would make `instanceof` lie. */
for (const entryPoint of entryPoints) {
  const imported = await import(entryPoint);
  const required = require(entryPoint);
  for (const name of Object.keys(required)) {
    assert.equal(imported[name], required[name], `${entryPoint} has two ${name}`);
  }
}
const { BrokerError } = await import('@nest-event-bus/broker');
assert.equal(BrokerError, require('@nest-event-bus/broker').BrokerError);
