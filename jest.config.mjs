/** Packages that are published as ES modules only: Jest runs in CommonJS mode and must transform them. */
const esModules = ['@nestjs', 'file-type', 'strtok3', 'token-types', 'uint8array-extras'];

export const reporters = ['default', `${import.meta.dirname}/tools/count-reporter.mjs`];

export const shared = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'ts', 'cts', 'json', 'node'],
  transform: {
    '^.+\\.(t|j|mj|ct)s$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esModules.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/((libs|apps)/[^/]+|examples)/dist/'],
  moduleNameMapper: {
    '^@nest-event-bus/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^@nest-event-bus/([^/]+)/(.+)$': '<rootDir>/libs/$1/src/$2/index.ts',
    // Sources only: packages mean the file that they name.
    '^(\\.{1,2}/.*kafkajs-package)\\.cjs$': '$1',
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Property tests generate the same cases in every run: see PROPERTY_SEED in CONTRIBUTING.md.
    '^fast-check$': '<rootDir>/test/properties/fast-check.cjs',
  },
};

/** What `npm test` runs. The apps and the chaos suites have commands and configurations of their own. */
export default {
  reporters,
  // Suites wait for brokers more than they compute, and one process for all of them never gets rid of what they leave.
  maxWorkers: 2,
  // Each suite leaves something in its process. A worker above this size is replaced before its next suite.
  workerIdleMemoryLimit: '1GB',
  // Virtual time costs real work, and a busy machine has little of it to give. The integration project has a limit of its own.
  testTimeout: 120_000,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/libs/*/{src,test}/**/*.spec.ts', '<rootDir>/test/unit/**/*.spec.ts'],
    },
    {
      ...shared,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/**/*.spec.ts'],
      globalSetup: '<rootDir>/test/integration/support/global-setup.mjs',
      globalTeardown: '<rootDir>/test/integration/support/global-teardown.mjs',
      setupFilesAfterEnv: ['<rootDir>/test/integration/support/test-timeout.ts'],
    },
  ],
};
