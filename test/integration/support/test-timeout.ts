// Sets the timeout here, because Jest reads `testTimeout` only from the top level of a
// configuration, never from a project.
jest.setTimeout(180_000);
