import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { launchScript } from './launch-script.js';

type State =
  | { readonly kind: 'down' }
  | { readonly kind: 'up' | 'frozen'; readonly child: ChildProcess; readonly exited: Deferred };

/**
 * A JVM for a test, which ends with the test process. Its folder contains settings, data and log,
 * and survives a kill.
 */
export class JvmProcess {
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
      // The session of its own keeps Ctrl-C of the terminal away from the JVM; the watcher ends it
      // instead.
      { cwd: this.folder, detached: true, stdio: ['ignore', log, log, 'pipe'] },
    );
    closeSync(log);
    this.#follow(child);
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Ends the process gracefully; a frozen one is resumed for that. */
  shutDown(): Promise<void> {
    this.thaw();
    return this.#end('SIGTERM');
  }

  freeze(): void {
    if (this.#state.kind !== 'up') return;
    this.#state.child.kill('SIGSTOP');
    this.#state = { ...this.#state, kind: 'frozen' };
  }

  thaw(): void {
    if (this.#state.kind !== 'frozen') return;
    this.#state.child.kill('SIGCONT');
    this.#state = { ...this.#state, kind: 'up' };
  }

  /** Returns the last output; empty if it never ran. */
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
    return join(this.folder, 'jvm.log');
  }

  #follow(child: ChildProcess): void {
    const exited = new Deferred();
    // Stdin is not used, because Node closes it when the child exits, before the watcher could be
    // notified.
    const watcher = child.stdio[3] as Socket;
    const gone = (): void => {
      this.#state = { kind: 'down' };
      watcher.end('exited\n');
      exited.resolve();
    };
    child.once('exit', gone);
    child.once('error', gone);
    // The watcher may have ended before it reads "exited", which then is not needed.
    watcher.on('error', () => undefined);
    // A server that is not stopped must not keep the process alive: the watcher ends it.
    child.unref();
    watcher.unref();
    this.#state = { kind: 'up', child, exited };
  }
}

/** Puts temporary files into the data folder, because a killed JVM leaves them behind. */
export function jvmFlags(folder: string): readonly string[] {
  return [
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-Xmx512m',
    '-XX:-UsePerfData',
    `-Djava.io.tmpdir=${folder}`,
  ];
}
