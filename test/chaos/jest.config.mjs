import { reporters, shared } from '../../jest.config.mjs';

/** Real brokers that are killed, frozen and cut off: `npm run test:chaos`. */
export default {
  ...shared,
  reporters,
  displayName: 'chaos',
  testMatch: ['<rootDir>/test/chaos/**/*.chaos.ts'],
  // One broker for the suites that leave it in peace and torment its clients.
  globalSetup: '<rootDir>/test/integration/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/integration/support/global-teardown.mjs',
};
