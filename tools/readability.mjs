// Prints figures that say how hard the comments, test titles, documents and folders are to read:
// `npm run readability`. The options are listed in readability/arguments.mjs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments } from './readability/arguments.mjs';
import { findBrokenLimits } from './readability/limits.mjs';
import { listOffenders } from './readability/offenders.mjs';
import { readRepository } from './readability/repository.mjs';
import { drawSample } from './readability/sample.mjs';
import { createStaticReport } from './readability/static-report.mjs';
import { formatFunctions } from './readability/function-list.mjs';
import { formatReport } from './readability/text-report.mjs';

const root = join(import.meta.dirname, '..');
const request = readArguments(process.argv.slice(2));

switch (request.command) {
  case 'usage':
    console.error(request.message);
    process.exitCode = 1;
    break;
  case 'sample':
    console.log(drawSample(readRepository(root), request));
    break;
  case 'list':
    console.log(listOffenders(readRepository(root), request.subject));
    break;
  case 'functions':
    await printFunctions(request);
    break;
  case 'check':
    checkLimits();
    break;
  case 'report':
    await printReport(request);
    break;
}

function checkLimits() {
  const broken = findBrokenLimits(createStaticReport(readRepository(root)));
  for (const message of broken) console.error(message);
  if (broken.length > 0) process.exitCode = 1;
  else console.log('readability: all limits are kept');
}

/** @param {import('./readability/arguments.mjs').ReportRequest} request */
async function printReport({ jsonFile, withRun }) {
  const report = createStaticReport(readRepository(root));
  if (withRun) {
    // Loads the module only here, because measuring the jobs needs the built packages and a Kafka.
    const { measureJobs } = await import('./readability/run/measure-jobs.mjs');
    report.jobs = await measureJobs(root);
  }
  console.log(formatReport(report));
  if (jsonFile) writeFileSync(jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
}

/** @param {import('./readability/arguments.mjs').FunctionsRequest} request */
async function printFunctions({ job }) {
  const { measureJobs } = await import('./readability/run/measure-jobs.mjs');
  const measured = (await measureJobs(root)).find(({ name }) => name === job);
  if (measured) console.log(formatFunctions(measured.functions));
}
