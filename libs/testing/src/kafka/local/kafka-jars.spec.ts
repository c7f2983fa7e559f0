import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KafkaUnavailableError } from '../kafka-unavailable-error.js';
import { CACHE_VARIABLE, cacheFolder, kafkaJars } from './kafka-jars.js';

describe('kafkaJars', () => {
  const before = { ...process.env };
  let machine: string;

  beforeEach(() => {
    machine = mkdtempSync(join(tmpdir(), 'machine-'));
    mkdirSync(join(machine, 'bin'));
    delete process.env['JAVA_HOME'];
    process.env['PATH'] = join(machine, 'bin');
    process.env[CACHE_VARIABLE] = join(machine, 'cache');
    install('java', '/bin/mkdir template');
  });

  afterEach(() => {
    process.env = { ...before };
    rmSync(machine, { recursive: true });
  });

  function install(name: string, script: string): void {
    writeFileSync(join(machine, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  const fetching = '/bin/mkdir jars; : > jars/kafka.jar';
  const cached = (): string[] => readdirSync(join(machine, 'cache'));

  it('downloads the jars with Maven into the cache, together with a formatted folder', async () => {
    install('mvn', fetching);
    const jars = await kafkaJars('4.1.1');
    expect(jars.folder).toBe(join(machine, 'cache', 'kafka-4.1.1'));
    expect(existsSync(join(jars.folder, 'jars', 'kafka.jar'))).toBe(true);
    expect(existsSync(jars.template)).toBe(true);
    expect(cached()).toEqual(['kafka-4.1.1']);
  });

  it('does not call Maven if the cache already has the jars', async () => {
    install('mvn', fetching);
    const first = await kafkaJars('4.1.1');
    rmSync(join(machine, 'bin', 'mvn'));
    await expect(kafkaJars('4.1.1')).resolves.toEqual(first);
  });

  it('creates complete jars when two processes download them at once', async () => {
    install('mvn', `${fetching}; /bin/sleep 0.2`);
    const [one, other] = await Promise.all([kafkaJars('4.1.1'), kafkaJars('4.1.1')]);
    expect(one).toEqual(other);
    expect(cached()).toEqual(['kafka-4.1.1']);
    expect(readdirSync(join(one.folder, 'jars'))).toEqual(['kafka.jar']);
  });

  it.each([
    {
      problem: 'there is no Java',
      install: () => rmSync(join(machine, 'bin', 'java')),
      says: 'no "java"',
    },
    { problem: 'there is no Maven', install: () => undefined, says: 'no "mvn" in PATH' },
    {
      problem: 'Maven cannot fetch',
      install: () => install('mvn', 'echo no route to host; exit 1'),
      says: 'no route to host',
    },
    {
      problem: 'Java is too old to format',
      install: () => {
        install('mvn', fetching);
        install('java', 'echo UnsupportedClassVersionError >&2; exit 1');
      },
      says: 'UnsupportedClassVersionError',
    },
  ])(
    'throws KafkaUnavailableError if $problem, and leaves no file in the cache',
    async ({ install: set, says }) => {
      set();
      const outcome = await kafkaJars('4.1.1').catch((error: unknown) => error);
      expect(outcome).toBeInstanceOf(KafkaUnavailableError);
      expect(String(outcome)).toContain(says);
      expect(existsSync(join(machine, 'cache')) ? cached() : []).toEqual([]);
    },
  );
});

describe('cacheFolder', () => {
  it.each([
    [{ [CACHE_VARIABLE]: '/own', XDG_CACHE_HOME: '/caches' }, '/own'],
    [{ XDG_CACHE_HOME: '/caches' }, join('/caches', 'nest-event-bus')],
  ])('is derived from the environment %j: %s', (environment, folder) => {
    expect(cacheFolder(environment)).toBe(folder);
  });

  it('is in the home folder by default', () => {
    expect(cacheFolder({})).toMatch(/\.cache.nest-event-bus$/);
  });
});
