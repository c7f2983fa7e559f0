const libraries = ['broker', 'core', 'testing', 'messaging', 'outbox', 'outbox-sql', 'outbox-nest'];

/** Entry points that the installed packages declare. */
exports.entryPoints = libraries.flatMap((library) => {
  const name = `@nest-event-bus/${library}`;
  return Object.keys(require(`${name}/package.json`).exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => name + subpath.slice(1));
});
