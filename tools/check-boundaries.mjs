// Checks the rules of ARCHITECTURE.md that a compiler does not know: who may import whom, and who may read
// the clock.
import { join } from 'node:path';
import { findAmbientTime } from './boundaries/ambient-time.mjs';
import { findForbiddenImports } from './boundaries/import-direction.mjs';
import { readDeclaredDependencies, readSources } from './boundaries/source-tree.mjs';

const root = join(import.meta.dirname, '..');
const sources = readSources(root);
const offences = [
  ...findForbiddenImports(sources, readDeclaredDependencies(root)),
  ...findAmbientTime(sources),
];

for (const { path, line, message } of offences) console.error(`${path}:${line} ${message}`);
if (offences.length > 0) process.exitCode = 1;
else console.log(`boundaries: ${sources.length} files, no forbidden import or use`);
