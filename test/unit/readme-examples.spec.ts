import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { transformSync, type Options } from '@swc/core';
import ts from 'typescript';
import {
  brokenLinksOf,
  examplesOf,
  fencesOf,
  pageAt,
  PAGES,
  sentencesOf,
  wordCountOf,
  wordsOf,
  type Example,
} from './docs-pages.js';

const root = join(__dirname, '../..');
const examples = PAGES.flatMap(examplesOf);
const isAlone = ({ mode }: Example): boolean => mode === 'alone';

/** Type-checks examples at once, as files in the root of the repository. */
class ExampleCompiler {
  readonly #options = this.#readOptions();
  #last: ts.Program | undefined;

  problemsOf(given: readonly Example[]): readonly string[] {
    const sources = new Map(
      given.map((example, index) => [join(root, `example-${index}.ts`), example] as const),
    );
    const program = ts.createProgram(
      [...sources.keys()],
      this.#options,
      this.#hostWith(sources),
      this.#last,
    );
    this.#last = program;
    return [...sources].flatMap(([file, { name }]) => {
      const source = program.getSourceFile(file);
      const found = [
        ...program.getSyntacticDiagnostics(source),
        ...program.getSemanticDiagnostics(source),
      ];
      return found.map(
        ({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      );
    });
  }

  #readOptions(): ts.CompilerOptions {
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile) as {
      config: object;
    };
    return ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root).options;
  }

  #hostWith(sources: ReadonlyMap<string, Example>): ts.CompilerHost {
    const host = ts.createCompilerHost(this.#options);
    const { readFile, fileExists, getSourceFile } = host;
    host.readFile = (file) => sources.get(file)?.code ?? readFile(file);
    host.fileExists = (file) => sources.has(file) || fileExists(file);
    host.getSourceFile = (file, language, ...rest) => {
      const code = sources.get(file)?.code;
      return code === undefined
        ? getSourceFile(file, language, ...rest)
        : ts.createSourceFile(file, code, language);
    };
    return host;
  }
}

const SWC: Options = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'commonjs' },
};

/** Runs an example as the body of a function, and returns what it printed. */
async function outputOf({ code }: Example): Promise<readonly string[]> {
  const imports = [...code.matchAll(/^import .*$/gm)].map(([line]) => line).join('\n');
  const body = code.replaceAll(/^import .*$/gm, '').replaceAll(/^export /gm, '');
  const script = transformSync(`${imports}\nexport async function example() {\n${body}\n}`, SWC);
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  const exported: { example?: () => Promise<void> } = {};
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  new Function('exports', 'require', script.code)(exported, (name: string) => loaded.get(name));
  await exported.example?.();
  return log.mock.calls.map(([line]) => String(line));
}

/** What the examples may import. */
const loaded = new Map<string, unknown>();
/** Applications that an example has created: one that fails closes none. */
const applications: INestApplicationContext[] = [];

async function nestCore(): Promise<unknown> {
  const core = await import('@nestjs/core');
  const createApplicationContext: typeof core.NestFactory.createApplicationContext = async (
    ...given
  ) => {
    const application = await core.NestFactory.createApplicationContext(...given);
    applications.push(application);
    return application;
  };
  return { ...core, NestFactory: { createApplicationContext } };
}

/** The text of all sources of a library, without specs. */
function sourcesOf(folder: string): string {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('.spec'))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))
    .join('\n');
}

/** The outputs that an example announces: `// Output: order 7`. */
const announcedBy = ({ code }: Example): readonly string[] =>
  [...code.matchAll(/\/\/ Output: (.*)$/gm)].map(([, output = '']) => output.trim());

describe('The examples of the documentation', () => {
  it('compile', () => {
    const compiler = new ExampleCompiler();
    expect(examples.length).toBeGreaterThan(30);
    expect(compiler.problemsOf(examples.filter((example) => !isAlone(example)))).toEqual([]);
    for (const example of examples.filter(isAlone))
      expect(compiler.problemsOf([example])).toEqual([]);
  }, 90_000);

  it('are marked as TypeScript in a way that has a check', () => {
    const fences = [...new Set(PAGES.flatMap(fencesOf))].sort();
    expect(fences).toEqual(['bash', 'json', 'mermaid', 'text', 'ts', 'ts alone', 'ts run']);
  });

  describe('that run', () => {
    const running = examples.filter(({ mode }) => mode === 'run');

    beforeAll(async () => {
      loaded.set('@nest-event-bus/broker', await import('@nest-event-bus/broker'));
      loaded.set('@nest-event-bus/broker/memory', await import('@nest-event-bus/broker/memory'));
      loaded.set('@nest-event-bus/broker/runtime', await import('@nest-event-bus/broker/runtime'));
      loaded.set('@nest-event-bus/core', await import('@nest-event-bus/core'));
      loaded.set('@nestjs/common', await import('@nestjs/common'));
      loaded.set('@nestjs/core', await nestCore());
      loaded.set('@nestjs/testing', await import('@nestjs/testing'));
    });

    afterEach(async () => {
      jest.restoreAllMocks();
      await Promise.all(applications.splice(0).map((application) => application.close()));
    });

    it.each(running)('$name prints what it announces', async (example) => {
      const announced = announcedBy(example);
      expect(announced).not.toEqual([]);
      expect(await outputOf(example)).toEqual(announced);
    });
  });
});

describe('The pages of the documentation', () => {
  it.each(PAGES)('$path has no broken link', (page) => {
    expect(brokenLinksOf(page)).toEqual([]);
  });

  const forUsers = PAGES.filter(({ path }) => /^(README|libs|docs\/(guides|reference))/.test(path));

  it.each(forUsers)('$path has no sentence of more than 25 words', (page) => {
    expect(sentencesOf(page).filter((sentence) => wordCountOf(sentence) > 25)).toEqual([]);
  });

  it('quote only messages that the code has', () => {
    const quoted = [...pageAt('docs/guides/troubleshooting.md').text.matchAll(/"([^"]+)"/g)];
    const fragments = quoted.flatMap(([, message = '']) => message.split('…'));
    const code = sourcesOf('libs/core/src');
    expect(fragments.length).toBeGreaterThan(5);
    expect(fragments.filter((fragment) => !code.includes(fragment.trim()))).toEqual([]);
  });

  const guides = PAGES.filter(({ path }) => path.startsWith('docs/guides/'));

  it.each(guides)('$path has at most 800 words', (page) => {
    expect(wordsOf(page)).toBeLessThanOrEqual(800);
  });

  const readmes = forUsers.filter(({ path }) => path.endsWith('README.md'));

  it.each(readmes)('$path has at most 700 words', (page) => {
    expect(wordsOf(page)).toBeLessThanOrEqual(700);
  });
});
