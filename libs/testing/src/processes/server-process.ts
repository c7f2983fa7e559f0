import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { launchScript } from './launch-script.js';
import { waitUntilStopped } from './wait-until-stopped.js';

type State =
  | { readonly kind: 'down' }
  | { readonly kind: 'up' | 'frozen'; readonly child: ChildProcess; readonly exited: Deferred };

/**
 * A server for a test, such as a JVM. It ends when the test process ends. Its folder contains
 * settings, data and log, which are kept after a kill.
 */
export class ServerProcess {
  #state: State = { kind: 'down' };

  constructor(
    readonly folder: string,
    private readonly command: readonly string[],
  ) {}

  get kind(): State['kind'] {
    return this.#state.kind;
  }

  launch(): void {
    if (this.#state.kind !== 'down') return;
    const log = openSync(this.#logFile, 'a');
    const child = spawn(
      '/bin/sh',
      ['-c', launchScript, 'sh', this.folder, ...this.command],
      // Starts the server in a session of its own, so that Ctrl-C in the terminal does not reach it.
      // The watcher ends the server instead.
      { cwd: this.folder, detached: true, stdio: ['ignore', log, log, 'pipe'] },
    );
    closeSync(log);
    this.#follow(child);
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Ends the process gracefully. A frozen process is resumed first. */
  shutDown(): Promise<void> {
    this.thaw();
    return this.#end('SIGTERM');
  }

  freeze(): void {
    if (this.#state.kind !== 'up') return;
    const { child } = this.#state;
    child.kill('SIGSTOP');
    if (child.pid !== undefined) waitUntilStopped(child.pid);
    this.#state = { ...this.#state, kind: 'frozen' };
  }

  thaw(): void {
    if (this.#state.kind !== 'frozen') return;
    this.#state.child.kill('SIGCONT');
    this.#state = { ...this.#state, kind: 'up' };
  }

  /** Returns the last output of the process; empty if it was never started. */
  async lastOutput(): Promise<string> {
    if (!existsSync(this.#logFile)) return '';
    const log = await readFile(this.#logFile, 'utf8');
    return log.trimEnd().split('\n').slice(-30).join('\n');
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.#state.kind === 'down') return;
    const { child, exited } = this.#state;
    child.ref();
    child.kill(signal);
    await exited.promise;
  }

  get #logFile(): string {
    return join(this.folder, 'server.log');
  }

  #follow(child: ChildProcess): void {
    const exited = new Deferred();
    // Uses a pipe other than stdin, because Node closes stdin when the child exits, before the
    // watcher can be notified.
    const watcher = child.stdio[3] as Socket;
    const gone = (): void => {
      this.#state = { kind: 'down' };
      watcher.end('exited\n');
      exited.resolve();
    };
    child.once('exit', gone);
    child.once('error', gone);
    // Writing to the watcher fails if it has ended already. Then it does not need to know that the
    // server has exited.
    watcher.on('error', () => undefined);
    // Lets this process end although the server still runs: the watcher then ends the server.
    child.unref();
    watcher.unref();
    this.#state = { kind: 'up', child, exited };
  }
}
