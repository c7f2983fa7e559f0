import { readdirSync, readFileSync } from 'node:fs';

const LONGEST_WAIT_MS = 2_000;
const PAUSE_MS = 1;

/**
 * Blocks until all threads of a process have stopped after SIGSTOP. On a busy machine the others still
 * answer requests for some milliseconds after the signal was sent. Without `/proc` it does not wait.
 */
export function waitUntilStopped(pid: number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let waited = 0; waited < LONGEST_WAIT_MS && isRunning(pid); waited += PAUSE_MS)
    Atomics.wait(sleeper, 0, 0, PAUSE_MS);
}

function isRunning(pid: number): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.some((thread) => !'Tt'.includes(threadState(pid, thread)));
  } catch {
    return false;
  }
}

/** Returns the letter after the name of the thread. The name may contain spaces and brackets. */
function threadState(pid: number, thread: string): string {
  const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
  return stat.charAt(stat.lastIndexOf(')') + 2);
}
