/** @typedef {import('./find-mutations.mjs').Mutation & { readonly id: number }} Mutant */
/** @typedef {{ mutant: Mutant, inner: Node[] }} Node */

/**
 * Returns a source that contains all mutants, of which `isMutant` enables one. So that all of them need one
 * copy of the tree, which Jest compiles once.
 * @param {string} text
 * @param {readonly Mutant[]} mutants outer ones before inner ones
 * @returns {string}
 */
export function switchedSource(text, mutants) {
  return render(text, 0, text.length, nested(mutants));
}

/** @param {readonly Mutant[]} mutants */
function nested(mutants) {
  /** @type {Node[]} */
  const roots = [];
  /** @type {Node[]} */
  const open = [];
  for (const mutant of mutants) {
    while (open.length > 0 && !contains(open.at(-1)?.mutant, mutant)) open.pop();
    const node = { mutant, inner: [] };
    (open.at(-1)?.inner ?? roots).push(node);
    open.push(node);
  }
  return roots;
}

/**
 * @param {Mutant | undefined} outer
 * @param {Mutant} inner
 */
const contains = (outer, inner) =>
  outer !== undefined && outer.kind !== 'body' && inner.to <= outer.to && inner.from < outer.to;

/**
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {readonly Node[]} nodes
 * @returns {string}
 */
function render(text, from, to, nodes) {
  let rendered = '';
  let at = from;
  for (const { mutant, inner } of nodes) {
    rendered += text.slice(at, mutant.from);
    rendered += switched(mutant, render(text, mutant.from, mutant.to, inner));
    at = mutant.to;
  }
  return rendered + text.slice(at, to);
}

/**
 * @param {Mutant} mutant
 * @param {string} original
 */
function switched({ id, kind, replacement }, original) {
  const isEnabled = `globalThis.isMutant(${id})`;
  switch (kind) {
    case 'expression':
      return `(${isEnabled} ? (${replacement}) : (${original}))`;
    case 'property':
      return `${original}: (${isEnabled} ? ${replacement} : ${original})`;
    case 'statement':
      return `{ if (!${isEnabled}) { ${original} } }`;
    case 'body':
      return ` if (${isEnabled}) return;`;
  }
}
