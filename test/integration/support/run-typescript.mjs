/** Usage: `node --import <this file> some.ts` */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
