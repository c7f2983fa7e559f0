import { ChurnMember, type ChurnSettings } from './churn-member.js';

const settings = JSON.parse(process.argv[2] ?? '') as ChurnSettings;
/** Writes to a pipe are synchronous, so an event survives a kill -9 right after it. */
const member = new ChurnMember(settings, (event) =>
  process.stdout.write(`${JSON.stringify(event)}\n`),
);
// The test run has ended, so this process ends too.
process.stdin.on('close', () => process.exit(0)).resume();
void member.start();
