import { reporters, shared } from '../../jest.config.mjs';

/** Real brokers that are killed, frozen and disconnected: `npm run test:chaos`. */
export default {
  ...shared,
  reporters,
  displayName: 'chaos',
  testMatch: ['<rootDir>/test/chaos/**/*.chaos.ts'],
  // A shared broker for the suites that only disturb its clients.
  globalSetup: '<rootDir>/test/integration/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/integration/support/global-teardown.mjs',
};
