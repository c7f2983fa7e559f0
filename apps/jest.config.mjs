import { reporters, shared } from '../jest.config.mjs';

/** The apps as a user runs them: `npm run test:e2e`. */
export default {
  ...shared,
  reporters,
  displayName: 'e2e',
  testMatch: ['<rootDir>/apps/*/test/**/*.e2e-spec.ts'],
};
