import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { check } from './check.cjs';
import { entryPoints } from './entry-points.cjs';

const require = createRequire(import.meta.url);
const terminus = '@nest-event-bus/core/terminus';

assert.throws(() => require.resolve('@nestjs/terminus'), 'it was not to be installed');
const others = entryPoints.filter((entryPoint) => entryPoint !== terminus);
assert.equal(others.length, entryPoints.length - 1);

await check(others, (name) => import(name));
await check(others, (name) => Promise.resolve(require(name)));

const saysWhatIsMissing = ({ code, message }) => {
  assert.match(code, /MODULE_NOT_FOUND$/);
  assert.match(message, /Cannot find (package|module) '@nestjs\/terminus'/);
  return true;
};
await assert.rejects(import(terminus), saysWhatIsMissing);
assert.throws(() => require(terminus), saysWhatIsMissing);
