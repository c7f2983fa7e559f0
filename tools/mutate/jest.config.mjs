import { shared } from '../../jest.config.mjs';

/** Runs in a scratch tree, whose sources contain mutants. */
export default {
  ...shared,
  testMatch: ['<rootDir>/libs/core/{src,test}/**/*.spec.ts'],
  testTimeout: 30_000,
  setupFiles: [`${import.meta.dirname}/switch.mjs`],
  setupFilesAfterEnv: [`${import.meta.dirname}/write-reached.mjs`],
};
