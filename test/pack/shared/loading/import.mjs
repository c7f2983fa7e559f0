import { check } from './check.cjs';
import { entryPoints } from './entry-points.cjs';

await check(entryPoints, (name) => import(name));
