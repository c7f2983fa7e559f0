import { recordCounts } from './counts.mjs';

/** Tells whoever asked (see counts.mjs) how many tests passed and failed. */
export default class CountReporter {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/test-result').AggregatedResult} results
   */
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    recordCounts({ passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites });
  }
}
