import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

export type StartOutcome =
  | { readonly kind: 'started'; readonly brokers: readonly string[]; readonly canKill: boolean }
  | { readonly kind: 'unavailable' | 'failed'; readonly message: string };

/** Starts a Node process that starts a KafkaServer and reports the outcome. */
export function startKafkaInChild(
  options: object,
  environment: Record<string, string | undefined>,
): { readonly child: ChildProcess; readonly outcome: Promise<StartOutcome> } {
  const loader = join(__dirname, '../../support/run-typescript.mjs');
  const script = join(__dirname, 'start-kafka.ts');
  const child = spawn(process.execPath, ['--import', loader, script, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const outcome = new Promise<StartOutcome>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) =>
      resolve(JSON.parse(line) as StartOutcome),
    );
    child.once('exit', (code) =>
      reject(new Error(`The child printed nothing and ended with ${code}.`)),
    );
  });
  return { child, outcome };
}
