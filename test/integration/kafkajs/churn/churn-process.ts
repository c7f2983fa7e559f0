import { ChurnMember, type ChurnSettings } from './churn-member.js';

const settings = JSON.parse(process.argv[2] ?? '') as ChurnSettings;
/** Writing to a pipe is synchronous: what is said survives a kill -9 that comes right after it. */
const member = new ChurnMember(settings, (event) =>
  process.stdout.write(`${JSON.stringify(event)}\n`),
);
// Nobody listens any more: the test run is gone.
process.stdin.on('close', () => process.exit(0)).resume();
void member.start();
