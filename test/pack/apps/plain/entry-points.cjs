/** The entry points that the installed packages themselves declare. */
exports.entryPoints = ['@nest-event-bus/broker', '@nest-event-bus/testing'].flatMap((name) =>
  Object.keys(require(`${name}/package.json`).exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => name + subpath.slice(1)),
);
