import { spawn } from 'node:child_process';

const LONGEST_MS = 240_000;

/**
 * Runs a command and returns its standard output; if the command fails, rejects with its complete output.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string }} options
 * @returns {Promise<string>}
 */
export function run(command, args, { cwd }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      shell: process.platform === 'win32',
    });
    let stdout = '';
    let everything = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      everything += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      everything += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else
        reject(new Error(`${command} ${args.join(' ')} ended by ${signal ?? code}\n${everything}`));
    });
  });
}
