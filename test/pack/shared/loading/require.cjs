const { check } = require('./check.cjs');
const { entryPoints } = require('./entry-points.cjs');

check(entryPoints, (name) => Promise.resolve(require(name))).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
