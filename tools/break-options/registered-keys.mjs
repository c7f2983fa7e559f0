import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** @typedef {{ key: string, effect: string }} RegisteredKey */

const REGISTER = 'libs/core/src/config/validation/key-register.ts';

/**
 * Reads the register of keys without its imports, of which the list itself needs only `deepFreeze`.
 * @param {string} root
 * @returns {readonly RegisteredKey[]}
 */
export function readRegisteredKeys(root) {
  const source = readFileSync(join(root, REGISTER), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  /** @type {{ KEY_REGISTER?: readonly RegisteredKey[] }} */
  const exported = {};
  const imported = { deepFreeze: (/** @type {unknown} */ value) => value, DltStrategy: {} };
  // oxlint-disable-next-line typescript/no-implied-eval
  new Function('require', 'exports', outputText)(() => imported, exported);
  return exported.KEY_REGISTER ?? [];
}
