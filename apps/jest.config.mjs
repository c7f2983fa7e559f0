import { reporters, shared } from '../jest.config.mjs';

/** Runs the apps and the examples as a user runs them: `npm run test:e2e`. */
export default {
  ...shared,
  reporters,
  displayName: 'e2e',
  testMatch: ['<rootDir>/apps/*/test/**/*.e2e-spec.ts', '<rootDir>/examples/test/**/*.e2e-spec.ts'],
  // The applications share the machine with brokers and databases.
  testTimeout: 180_000,
  globalSetup: '<rootDir>/test/integration/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/integration/support/global-teardown.mjs',
};
