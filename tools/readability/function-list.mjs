/**
 * Lists functions by their file, the files in alphabetical order, each function with its number of calls.
 * @param {readonly import('./run/call-counter.mjs').CountedFunction[]} functions
 * @returns {string}
 */
export function formatFunctions(functions) {
  const files = [...new Set(functions.map(({ file }) => file))].sort();
  return files
    .map((file) => {
      const own = functions.filter((each) => each.file === file);
      const rows = own.map(
        ({ name, calls }) => `${calls.toString().padStart(7)}  ${name || '(anonymous)'}`,
      );
      return [`${file}: ${own.length}`, ...rows].join('\n');
    })
    .join('\n\n');
}
