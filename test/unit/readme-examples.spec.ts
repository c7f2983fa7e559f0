import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import ts from 'typescript';

const root = join(__dirname, '../..');
const pages = [
  'README.md',
  'libs/broker/README.md',
  'libs/core/README.md',
  'libs/testing/README.md',
];

interface Example {
  readonly name: string;
  readonly code: string;
  /** Marked ```ts run: needs no broker, and ends. */
  readonly runs: boolean;
}

const examples: readonly Example[] = pages.flatMap((page) => {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```ts( run)?\n(.*?)^```/gms);
  return [...blocks].map(([, run, code = ''], index) => ({
    name: `${page}, example ${index + 1}`,
    code,
    runs: run !== undefined,
  }));
});

/** Type-checks all examples at once, as files that lie in the root of the repository. */
function problems(): readonly string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const sources = new Map(
    examples.map(({ code }, index) => [join(root, `example-${index}.ts`), code] as const),
  );
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.readFile = (file) => sources.get(file) ?? readFile(file);
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.getSourceFile = (file, language, ...rest) => {
    const code = sources.get(file);
    return code === undefined
      ? getSourceFile(file, language, ...rest)
      : ts.createSourceFile(file, code, language);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].flatMap((file, index) => {
    const source = program.getSourceFile(file);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ messageText }) => {
      return `${examples[index]?.name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  });
}

describe('the examples of the READMEs', () => {
  it('compile', () => {
    expect(examples.length).toBeGreaterThan(3);
    expect(problems()).toEqual([]);
  }, 60_000);

  it.each(examples.filter(({ runs }) => runs))('$name runs', async ({ code }) => {
    const { code: script } = transformSync(
      `export async function example() {\n${bodyOf(code)}\n}`,
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'commonjs' },
      },
    );
    const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
    const exported: { example?: () => Promise<void> } = {};
    const { memory } = await import('@nest-event-bus/broker/memory');
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    new Function('exports', 'memory', script)(exported, memory);
    await exported.example?.();
    expect(log).toHaveBeenCalledWith('hello');
  });
});

/** The example without its imports, which the test passes in. */
function bodyOf(code: string): string {
  return code.replaceAll(/^import .*$/gm, '');
}
