// Follows README in an empty Nest application, with the packed libraries, and prints how long it takes:
// npm run newcomer. Needs a build, and a Kafka: that of KAFKA_BROKERS, or a local one.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KafkaServer } from '@nest-event-bus/testing';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { packLibraries } from './pack-libraries.mjs';
import { run } from './run-command.mjs';
import { firstFence } from './newcomer/first-fence.mjs';
import { WatchedProcess } from './newcomer/watched-process.mjs';

const MOST_SECONDS = {
  'first handled record': 180,
  'first visible retry': 300,
  'first dead letter': 300,
};
const TOPIC = 'orders.events';

/** What an empty application of Nest has. */
const MANIFEST = {
  name: 'newcomer',
  private: true,
  type: 'module',
  dependencies: {
    '@nestjs/common': '^12.0.1',
    '@nestjs/core': '^12.0.1',
    'reflect-metadata': '^0.2.2',
    rxjs: '^7.8.1',
  },
  devDependencies: { '@types/node': '^20.19.0', typescript: '^6.0.2' },
};
const COMPILER_OPTIONS = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  target: 'ES2023',
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  strict: true,
  skipLibCheck: true,
  outDir: 'dist',
  rootDir: 'src',
  types: ['node'],
};

const root = join(import.meta.dirname, '..');
const readme = await readFile(join(root, 'README.md'), 'utf8');
const section = readme.slice(readme.indexOf('## The smallest application'));
const command = firstFence(section, 'bash');
const code = firstFence(section, 'ts');

const workshop = await mkdtemp(join(tmpdir(), 'nest-event-bus-newcomer-'));
const kafka = await KafkaServer.start();
try {
  const libraries = await packLibraries(root, workshop);
  const app = join(workshop, 'app');
  await mkdir(join(app, 'src'), { recursive: true });
  await writeFile(join(app, 'package.json'), JSON.stringify(MANIFEST));
  await writeFile(
    join(app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS }),
  );
  await follow(app, libraries);
} finally {
  await kafka.stop();
  await rm(workshop, { recursive: true, force: true });
}

/**
 * @param {string} app
 * @param {readonly import('./pack-libraries.mjs').PackedLibrary[]} libraries
 */
async function follow(app, libraries) {
  const startedAt = performance.now();
  const passed = () => Math.round((performance.now() - startedAt) / 1_000);
  // The packages are not published yet: their names become their tarballs.
  const packages = command.replace(/^npm i /, '').split(/\s+/);
  const installed = packages.map(
    (name) => libraries.find(({ manifest }) => manifest.name === name)?.tarball ?? name,
  );
  await run('npm', ['install', '--no-audit', '--no-fund', ...installed], { cwd: app });
  console.log(`${passed()} s  installed: ${command}`);
  await writeFile(join(app, 'src/main.ts'), code);
  await run('npx', ['tsc', '-p', '.'], { cwd: app });
  console.log(`${passed()} s  compiled`);
  const brokers = kafka.brokers.join(',');
  const main = new WatchedProcess(['dist/main.js'], app, { KAFKA_BROKERS: brokers });
  const driver = kafkajs({ brokers: kafka.brokers });
  /**
   * @param {keyof typeof MOST_SECONDS} step
   * @param {string} value
   * @param {RegExp} expected
   */
  const expectLine = async (step, value, expected) => {
    const most = MOST_SECONDS[step];
    await driver.producer().send([{ topic: TOPIC, value }]);
    const line = await main.line(expected, (most - passed()) * 1_000);
    console.log(`${passed()} s  ${step}, at most ${most} s\n       ${line}`);
  };
  try {
    await main.line(/Partitions assigned/, 60_000);
    await expectLine('first handled record', '{"id":1}', /^order 1 came as/);
    await expectLine('first visible retry', 'null', /WARN.*TypeError.*called again/);
    await expectLine('first dead letter', 'no JSON', /ERROR.*goes to orders.events.DLT/);
  } catch (error) {
    console.error(main.output);
    throw error;
  } finally {
    await driver.close();
    await main.stop();
  }
}
