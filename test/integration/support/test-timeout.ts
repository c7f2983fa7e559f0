// Jest reads `testTimeout` at the top of a configuration only, never in a project.
jest.setTimeout(60_000);
