import ts from 'typescript';
import { GlobalNames } from './global-names.mjs';
import { isSpec, moduleSpecifiers, offenceAt, walk } from './source-file.mjs';

/**
 * Files that may use the clock, timers and random numbers directly. All other files use a Runtime.
 */
const exempt = [
  'libs/broker/src/runtime/real-runtime.ts',
  'libs/broker/src/runtime/virtual-runtime.ts',
  'libs/outbox/src/runtime/real-runtime.ts',
];

const globals = ['performance', 'setTimeout', 'setInterval', 'setImmediate'];
const modules = ['timers', 'timers/promises', 'perf_hooks'];
const randomness = /^(random|getRandomValues$|webcrypto$)/;

/** Forbidden members of global objects whose other members are allowed. */
const members = new Map([
  ['Date', /^now$/],
  ['Math', /^random$/],
  ['AbortSignal', /^timeout$/],
  ['crypto', randomness],
  ['process', /^(hrtime|uptime)$/],
]);

/**
 * Finds uses of the clock, of timers and of random numbers that bypass the Runtime.
 * @param {readonly import('./source-file.mjs').Source[]} sources
 * @returns {import('./source-file.mjs').Offence[]}
 */
export function findAmbientTime(sources) {
  const names = new GlobalNames(
    sources.filter(({ path }) => !isSpec(path) && !exempt.includes(path)),
  );
  return names.files.flatMap((file) => [...forbiddenModules(file), ...forbiddenUses(file, names)]);
}

/** @param {ts.SourceFile} file */
function forbiddenModules(file) {
  return moduleSpecifiers(file).flatMap((specifier) => {
    const name = specifier.text.replace(/^node:/, '');
    return modules.includes(name) ? [ambient(specifier, `'${specifier.text}'`)] : [];
  });
}

/**
 * @param {ts.SourceFile} file
 * @param {GlobalNames} names
 */
function forbiddenUses(file, names) {
  /** @type {import('./source-file.mjs').Offence[]} */
  const found = [];
  walk(file, (node) => {
    const use =
      forbiddenGlobal(node, names) ??
      forbiddenMember(node, names) ??
      currentDate(node, names) ??
      importedChance(node);
    if (use) found.push(ambient(node, use));
  });
  return found;
}

/**
 * @param {ts.Node} node
 * @param {GlobalNames} names
 */
function forbiddenGlobal(node, names) {
  const name = names.nameOf(node);
  return name && globals.includes(name) ? name : undefined;
}

/**
 * @param {ts.Node} node
 * @param {GlobalNames} names
 */
function forbiddenMember(node, names) {
  const { object, member } = names.memberOf(node) ?? {};
  if (!object || !member) return undefined;
  const isTaken = object === 'globalThis' && globals.includes(member) && ts.isBindingElement(node);
  return isTaken || members.get(object)?.test(member) ? `${object}.${member}` : undefined;
}

/**
 * @param {ts.Node} node
 * @param {GlobalNames} names
 */
function currentDate(node, names) {
  const isCreated = ts.isNewExpression(node) && !node.arguments?.length;
  if (!isCreated && !ts.isCallExpression(node)) return undefined;
  if (names.nameOf(node.expression) !== 'Date') return undefined;
  return isCreated ? 'new Date()' : 'Date()';
}

/** @param {ts.Node} node */
function importedChance(node) {
  if (!ts.isImportSpecifier(node)) return undefined;
  const from = node.parent.parent.parent.moduleSpecifier;
  const name = (node.propertyName ?? node.name).text;
  if (!ts.isStringLiteral(from) || !/^(node:)?crypto$/.test(from.text)) return undefined;
  return randomness.test(name) ? `crypto.${name}` : undefined;
}

/**
 * @param {ts.Node} node
 * @param {string} use
 */
const ambient = (node, use) =>
  offenceAt(
    node,
    `uses ${use}: use the time, timers and randomness of the Runtime that was passed in`,
  );
