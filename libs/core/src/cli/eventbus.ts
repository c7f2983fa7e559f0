#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

void runCommandLine(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
}).then((code) => {
  process.exitCode = code;
});
