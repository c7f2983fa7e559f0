import { spawn } from 'node:child_process';

export class CommandError extends Error {
  readonly code = 'COMMAND';
  readonly retriable = false;

  constructor(
    command: string,
    how: string,
    readonly output: string,
    options?: ErrorOptions,
  ) {
    super(`"${command}" ${how}: ${output.trim().slice(-2_000)}`, options);
    this.name = new.target.name;
  }
}

/** Runs a command; rejects with its output if it fails. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly timeoutMs: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => printed.push(chunk));
    const output = (): string => Buffer.concat(printed).toString();
    child.on('error', (cause) =>
      reject(new CommandError(command, 'could not be started', cause.message, { cause })),
    );
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new CommandError(command, `ended with ${signal ?? `code ${code}`}`, output()));
    });
  });
}
