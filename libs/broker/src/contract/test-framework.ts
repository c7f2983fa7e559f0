/**
 * The part of a test framework that the suite uses. Jest, Vitest, Mocha and node:test all have it.
 */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: TestRegistration & { readonly skip?: TestRegistration };
  readonly afterAll: (hook: () => Promise<void>) => unknown;
}

export type TestRegistration = (name: string, run: () => Promise<void>) => unknown;
