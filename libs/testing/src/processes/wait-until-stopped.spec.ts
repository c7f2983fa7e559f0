import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { waitUntilStopped } from './wait-until-stopped.js';

const itOnLinux = existsSync('/proc/self/task') ? it : it.skip;

describe('waitUntilStopped', () => {
  itOnLinux('returns when the process is stopped', async () => {
    const child = spawn(process.execPath, ['-e', 'console.log(1); for (;;);']);
    try {
      await once(child.stdout, 'data');
      child.kill('SIGSTOP');
      waitUntilStopped(child.pid!);
      expect(readFileSync(`/proc/${child.pid}/stat`, 'utf8')).toMatch(/\) T /);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('returns at once if the process does not exist', () => {
    expect(() => waitUntilStopped(2 ** 22 + 1)).not.toThrow();
  });
});
