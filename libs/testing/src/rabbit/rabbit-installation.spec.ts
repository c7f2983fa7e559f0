import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRabbit } from './rabbit-installation.js';

describe('findRabbit', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rabbit-installation-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const program = (...names: readonly string[]): void => {
    for (const name of names) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), '');
      chmodSync(join(folder, name), 0o755);
    }
  };
  const found = (): string | undefined =>
    findRabbit(
      { PATH: join(folder, 'path'), RABBITMQ_HOME: join(folder, 'home') },
      join(folder, 'debian'),
    )?.server;

  it('prefers RABBITMQ_HOME, then the programs of Debian, then the PATH', () => {
    program('path/erl', 'path/rabbitmq-server');
    expect(found()).toBe(join(folder, 'path/rabbitmq-server'));
    program('debian/rabbitmq-server');
    expect(found()).toBe(join(folder, 'debian/rabbitmq-server'));
    program('home/sbin/rabbitmq-server');
    expect(found()).toBe(join(folder, 'home/sbin/rabbitmq-server'));
  });

  it('finds nothing without Erlang, and nothing without a server', () => {
    program('path/rabbitmq-server');
    expect(found()).toBeUndefined();
    expect(findRabbit({}, join(folder, 'debian'))).toBeUndefined();
  });
});
