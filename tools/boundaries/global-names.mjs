import ts from 'typescript';

const globalObjects = ['globalThis', 'global'];

/**
 * Resolves the global that a name refers to in these files, so that a parameter called `performance` is not
 * mistaken for the clock. The files are bound without any library, so a name without a declaration is a
 * global. The default export and the namespace of node:crypto count as the global `crypto`.
 */
export class GlobalNames {
  #program;
  #checker;

  /** @param {readonly import('./source-file.mjs').Source[]} sources */
  constructor(sources) {
    this.#program = programOf(sources);
    this.#checker = this.#program.getTypeChecker();
  }

  /** @returns {readonly ts.SourceFile[]} */
  get files() {
    return this.#program.getSourceFiles();
  }

  /**
   * `setTimeout`, `globalThis.setTimeout`
   * @param {ts.Node} node
   * @returns {string | undefined}
   */
  nameOf(node) {
    if (ts.isIdentifier(node)) return isReference(node) ? this.#unbound(node) : undefined;
    const access = memberAccess(node);
    if (!access) return undefined;
    return this.#isGlobalObject(access.object) ? access.member : undefined;
  }

  /**
   * `Date.now`, `Date['now']`, `globalThis.Date.now`, and the `now` of `const { now } = Date`
   * @param {ts.Node} node
   * @returns {{ object: string, member: string } | undefined}
   */
  memberOf(node) {
    const access = memberAccess(node) ?? destructuredMember(node);
    const object = access && this.nameOf(access.object);
    return access && object ? { object, member: access.member } : undefined;
  }

  /** @param {ts.Node} node */
  #isGlobalObject(node) {
    const name = this.nameOf(node);
    return name !== undefined && globalObjects.includes(name);
  }

  /** @param {ts.Identifier} name */
  #unbound(name) {
    const symbol = ts.isShorthandPropertyAssignment(name.parent)
      ? this.#checker.getShorthandAssignmentValueSymbol(name.parent)
      : this.#checker.getSymbolAtLocation(name);
    const [declaration] = symbol?.declarations ?? [];
    if (!declaration) return name.text;
    return isCryptoModule(declaration) ? 'crypto' : undefined;
  }
}

/**
 * Checks that the name refers to a value, and is not the name of a property, a method or a type.
 * @param {ts.Identifier} name
 */
function isReference(name) {
  const { parent } = name;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === name;
  if (ts.isBindingElement(parent) || ts.isVariableDeclaration(parent)) {
    return parent.initializer === name;
  }
  if (ts.isObjectLiteralElement(parent) || ts.isClassElement(parent)) return parent.name !== name;
  return !(
    ts.isTypeNode(parent) ||
    ts.isTypeElement(parent) ||
    ts.isQualifiedName(parent) ||
    ts.isImportSpecifier(parent) ||
    ts.isExportSpecifier(parent)
  );
}

/** @param {ts.Node} node */
function memberAccess(node) {
  if (ts.isPropertyAccessExpression(node)) {
    return { object: node.expression, member: node.name.text };
  }
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    return { object: node.expression, member: node.argumentExpression.text };
  }
  return undefined;
}

/** @param {ts.Node} node */
function destructuredMember(node) {
  if (!ts.isBindingElement(node)) return undefined;
  const declaration = node.parent.parent;
  const member = node.propertyName ?? node.name;
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return undefined;
  return ts.isIdentifier(member)
    ? { object: declaration.initializer, member: member.text }
    : undefined;
}

/** @param {ts.Declaration} declaration */
function isCryptoModule(declaration) {
  if (!ts.isImportClause(declaration) && !ts.isNamespaceImport(declaration)) return false;
  const { moduleSpecifier } = ts.isImportClause(declaration)
    ? declaration.parent
    : declaration.parent.parent;
  return ts.isStringLiteral(moduleSpecifier) && /^(node:)?crypto$/.test(moduleSpecifier.text);
}

/** @param {readonly import('./source-file.mjs').Source[]} sources */
function programOf(sources) {
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  /** @type {ts.CompilerOptions} */
  const options = { noLib: true, noResolve: true, types: [], target: ts.ScriptTarget.Latest };
  /** @type {ts.CompilerHost} */
  const host = {
    getSourceFile: (path) =>
      ts.createSourceFile(path, texts.get(path) ?? '', ts.ScriptTarget.Latest),
    resolveModuleNameLiterals: (names) => names.map(() => ({ resolvedModule: undefined })),
    fileExists: (path) => texts.has(path),
    readFile: (path) => texts.get(path),
    getDefaultLibFileName: () => 'lib.d.ts',
    getCurrentDirectory: () => '',
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    writeFile: () => undefined,
  };
  return ts.createProgram([...texts.keys()], options, host);
}
