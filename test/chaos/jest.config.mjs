import { reporters, shared } from '../../jest.config.mjs';

/** Runs suites with real brokers that are killed, frozen and disconnected: `npm run test:chaos`. */
export default {
  ...shared,
  reporters,
  displayName: 'chaos',
  testMatch: ['<rootDir>/test/chaos/**/*.chaos.ts'],
  // Starts a shared broker for the suites that disturb only its clients.
  globalSetup: '<rootDir>/test/integration/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/integration/support/global-teardown.mjs',
};
