import { recordCounts, recordRemark } from './counts.mjs';

/** Reports how many tests passed and failed, and which failed, if counts.mjs asks for it. */
export default class CountReporter {
  /**
   * @param {unknown} _contexts
   * @param {import('@jest/test-result').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults } = results;
    recordCounts({ passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites });
    for (const suite of testResults) {
      for (const test of suite.testResults) {
        if (test.status === 'failed') recordRemark(`failed: ${test.fullName}`);
      }
      if (suite.testExecError) recordRemark(`did not run: ${suite.testFilePath}`);
    }
  }
}
