import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeWithJava, describeWithKafka } from '../support/index.js';
import { startKafkaInChild } from './children/child.js';

const root = join(__dirname, '../../..');
/**
 * Skips a test if a container runtime is running, because the test cannot simulate a machine
 * without it.
 */
const withoutDocker = existsSync('/var/run/docker.sock') ? it.skip : it;
const NESTED = 'NEST_EVENT_BUS_NESTED_RUN';
if (process.env[NESTED] !== undefined)
  throw new Error('This suite runs Jest, and must not be run by that Jest.');

describe('A Kafka server for tests', () => {
  jest.setTimeout(180_000);
  let empty: string;
  let bare: Record<string, string | undefined>;

  beforeEach(() => {
    empty = mkdtempSync(join(tmpdir(), 'availability-'));
    bare = { PATH: empty, JAVA_HOME: undefined, KAFKA_BROKERS: undefined, CI: undefined };
  });

  afterEach(() => rmSync(empty, { recursive: true }));

  it('names the package to install if neither Java nor Testcontainers is available', async () => {
    const without = pathToFileURL(join(__dirname, 'children/without-testcontainers.mjs'));
    const { outcome } = startKafkaInChild(
      {},
      { ...bare, NODE_OPTIONS: `--import ${without.href}` },
    );
    await expect(outcome).resolves.toEqual({
      kind: 'unavailable',
      message:
        'skipped: needs Java or Docker (KAFKA_BROKERS: not set; ' +
        'local Java: no "java" in JAVA_HOME or PATH; ' +
        'Docker: run "npm i -D @testcontainers/kafka" to start Kafka in Docker)',
    });
  });

  it('requires Java if the suite needs features that KAFKA_BROKERS cannot provide', async () => {
    const { outcome } = startKafkaInChild(
      { brokers: 3, settings: { 'message.max.bytes': '1000' } },
      { ...bare, KAFKA_BROKERS: 'localhost:9092' },
    );
    await expect(outcome).resolves.toEqual({
      kind: 'unavailable',
      message:
        'skipped: needs Java (KAFKA_BROKERS: cannot give 3 brokers, broker settings; ' +
        'local Java: no "java" in JAVA_HOME or PATH; ' +
        'Docker: cannot give 3 brokers, broker settings)',
    });
  });

  withoutDocker('reports that Testcontainers finds no Docker', async () => {
    const { outcome } = startKafkaInChild({}, bare);
    await expect(outcome).resolves.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('Docker: no Docker (or another container runtime) answers'),
    });
  });

  withoutDocker(
    'lets suites be skipped by name without Java and Docker, and the run passes',
    () => {
      const { status, stderr } = runSuite({ ...bare });
      expect(stderr).toContain('Integration suites skipped: needs Java or Docker');
      expect(stderr).toMatch(/Tests: +1 skipped, 1 total/);
      expect(status).toBe(0);
    },
  );

  withoutDocker('lets suites fail instead with CI=true', () => {
    const { status, stderr } = runSuite({ ...bare, CI: 'true' });
    expect(stderr).toContain('skipped: needs Java or Docker');
    expect(stderr).toMatch(/Tests: +1 failed, 1 total/);
    expect(status).toBe(1);
  });

  /**
   * Runs one suite by its exact path. A pattern could also select this file, which would then start
   * itself without end.
   */
  function runSuite(environment: Record<string, string | undefined>) {
    const jest = join(root, 'node_modules/jest/bin/jest.js');
    const suite = join(__dirname, 'shared-kafka.spec.ts');
    return spawnSync(
      process.execPath,
      [jest, '--selectProjects=integration', '--runInBand', '--runTestsByPath', suite],
      {
        cwd: root,
        encoding: 'utf8',
        timeout: 60_000,
        // The failures of the inner run are expected, so they are not counted in the sum of all
        // tests.
        env: { ...process.env, COUNTS_FILE: undefined, ...environment, [NESTED]: 'true' },
      },
    );
  }
});

describeWithKafka('A broker named by KAFKA_BROKERS', (kafka) => {
  it('is used without a change of its settings, and cannot be killed', async () => {
    const { child, outcome } = startKafkaInChild({}, { KAFKA_BROKERS: kafka.brokers.join(', ') });
    await expect(outcome).resolves.toEqual({
      kind: 'started',
      brokers: kafka.brokers,
      canKill: false,
    });
    child.stdin?.end();
  });

  it('causes a failure if it does not answer: the suite is not skipped and starts no other broker', async () => {
    const { outcome } = startKafkaInChild(
      { startTimeoutMs: 100 },
      { KAFKA_BROKERS: '127.0.0.1:1' },
    );
    await expect(outcome).resolves.toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('KAFKA_BROKERS names 127.0.0.1:1, which cannot be used'),
    });
  });
});

describeWithJava('The second start of Kafka on a machine', () => {
  it('does not call Maven', async () => {
    const java = execFileSync('sh', ['-c', 'command -v java'], { encoding: 'utf8' }).trim();
    const home = dirname(dirname(realpathSync(java)));
    const { child, outcome } = startKafkaInChild(
      { controllable: true },
      { PATH: '', JAVA_HOME: home, KAFKA_BROKERS: undefined },
    );
    await expect(outcome).resolves.toMatchObject({ kind: 'started' });
    child.kill();
  }, 180_000);
});
