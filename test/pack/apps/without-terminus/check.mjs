import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { check } from './check.cjs';
import { entryPoints } from './entry-points.cjs';

const require = createRequire(import.meta.url);
/** Entry points, and the optional package that each of them needs. */
const optional = [
  ['@nest-event-bus/core/opentelemetry', '@opentelemetry/api'],
  ['@nest-event-bus/core/prometheus', 'prom-client'],
  ['@nest-event-bus/core/schedule', '@nestjs/schedule'],
  ['@nest-event-bus/core/terminus', '@nestjs/terminus'],
  ['@nest-event-bus/messaging/rabbitmq', 'amqplib'],
  ['@nest-event-bus/outbox-nest/terminus', '@nestjs/terminus'],
];

for (const [, name] of optional)
  assert.throws(() => require.resolve(name), `${name} was not to be installed`);
const others = entryPoints.filter((each) => !optional.some(([entryPoint]) => entryPoint === each));
assert.equal(others.length, entryPoints.length - optional.length);

await check(others, (name) => import(name));
await check(others, (name) => Promise.resolve(require(name)));

const saysThatItNeeds =
  (name) =>
  ({ code, message }) => {
    assert.match(code, /MODULE_NOT_FOUND$/);
    assert.match(message, new RegExp(`Cannot find (package|module) '${name}'`));
    return true;
  };
for (const [entryPoint, name] of optional) {
  await assert.rejects(import(entryPoint), saysThatItNeeds(name));
  assert.throws(() => require(entryPoint), saysThatItNeeds(name));
}
