import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { entryPoints } from './entry-points.cjs';

const require = createRequire(import.meta.url);

/** A second copy of a class would make `instanceof` fail, and Nest would have two tokens. */
for (const entryPoint of entryPoints) {
  const imported = await import(entryPoint);
  const required = require(entryPoint);
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort(), entryPoint);
  for (const name of Object.keys(required)) {
    assert.equal(imported[name], required[name], `${entryPoint} has two ${name}`);
  }
}
for (const [entryPoint, name] of [
  ['@nest-event-bus/broker', 'BrokerError'],
  ['@nest-event-bus/core', 'EventPublisher'],
  ['@nest-event-bus/outbox', 'OutboxWriter'],
]) {
  assert.equal((await import(entryPoint))[name], require(entryPoint)[name]);
}
