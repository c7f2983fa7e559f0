import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

export type Said =
  | { readonly kind: 'started'; readonly brokers: readonly string[]; readonly canKill: boolean }
  | { readonly kind: 'unavailable' | 'failed'; readonly message: string };

/** Another Node process that starts a KafkaServer and says how that went. */
export function startKafkaInChild(
  options: object,
  environment: Record<string, string | undefined>,
): { readonly child: ChildProcess; readonly said: Promise<Said> } {
  const loader = join(__dirname, '../../support/run-typescript.mjs');
  const script = join(__dirname, 'start-kafka.ts');
  const child = spawn(process.execPath, ['--import', loader, script, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const said = new Promise<Said>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) =>
      resolve(JSON.parse(line) as Said),
    );
    child.once('exit', (code) =>
      reject(new Error(`The child said nothing and ended with ${code}.`)),
    );
  });
  return { child, said };
}
