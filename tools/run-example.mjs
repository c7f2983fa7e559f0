import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// Runs one example: `npm run example -- retries-and-dead-letters`.

const built = join(import.meta.dirname, '../examples/dist');
const name = process.argv[2] ?? '';
const main = join(built, name, 'main.js');

if (name !== '' && existsSync(main)) {
  await import(pathToFileURL(main).href);
} else {
  const names = readdirSync(built, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(built, entry.name, 'main.js')))
    .map((entry) => entry.name);
  console.error(`There is no example '${name}'. Run one of: ${names.join(', ')}.`);
  process.exitCode = 2;
}
