// Runs in each test file after its imports: writes at its end which mutants it has reached.

/** @type {any} */
const { writeReachedMutants } = globalThis;

afterAll(() => writeReachedMutants(expect.getState().testPath));
