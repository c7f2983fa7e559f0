// Jest reads `testTimeout` only at the top of a configuration, never in a project.
jest.setTimeout(60_000);
