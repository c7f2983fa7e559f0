import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, KafkaServer, KafkaStartError } from '@nest-event-bus/testing';
import { describeWithJava } from '../support/index.js';
import { startKafkaInChild, type StartOutcome } from './children/child.js';

describeWithJava('An own server', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lifetime-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('is stopped and its data is deleted at the end of its block', async () => {
    const { child, outcome } = startKafkaInChild({ controllable: true }, { TMPDIR: folder });
    const broker = await addressIn(outcome);
    expect(await accepts(broker)).toBe(true);
    expect(readdirSync(folder)).toHaveLength(1);
    const ended = once(child, 'exit');
    child.stdin?.end();
    await expect(ended).resolves.toEqual([0, null]);
    expect(await accepts(broker)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    { end: 'kill -9', signal: 'SIGKILL', freeze: false },
    { end: 'kill -9 with a frozen broker', signal: 'SIGKILL', freeze: true },
    { end: 'Ctrl-C', signal: 'SIGINT', freeze: false },
  ] as const)('stops when the process that started it ends: $end', async ({ signal, freeze }) => {
    const options = { controllable: true, freeze };
    const { child, outcome } = startKafkaInChild(options, { TMPDIR: folder });
    const broker = await addressIn(outcome);
    expect(await accepts(broker)).toBe(true);
    const isGone = once(child, 'exit');
    child.kill(signal);
    await isGone;
    await eventually(async () => !(await accepts(broker)), {
      description: 'the broker to be gone',
    });
    await eventually(() => readdirSync(folder).length === 0, { description: 'its data removed' });
  });

  it('reports why it does not start, with the message of the broker', async () => {
    const starting = KafkaServer.start({ settings: { 'num.partitions': 'many' } });
    await expect(starting).rejects.toThrow(
      /Kafka 4\.1\.1 did not start: a broker ended\n[^]*Invalid value many/,
    );
    await expect(starting).rejects.toBeInstanceOf(KafkaStartError);
  });

  it('stops when its process is killed during its start', async () => {
    const { child, outcome } = startKafkaInChild({ controllable: true }, { TMPDIR: folder });
    const silent = expect(outcome).rejects.toThrow('printed nothing');
    await eventually(() => readdirSync(folder, { recursive: true }).some(isLogLock), {
      description: 'the broker to be on its way',
    });
    child.kill('SIGKILL');
    await silent;
    await eventually(() => readdirSync(folder).length === 0, { description: 'its data removed' });
  });
});

/** The first file that a broker creates. */
function isLogLock(path: string | Buffer): boolean {
  return String(path).endsWith('.lock');
}

async function addressIn(starting: Promise<StartOutcome>): Promise<string> {
  const outcome = await starting;
  if (outcome.kind !== 'started') throw new Error(outcome.message);
  return outcome.brokers[0] ?? '';
}

function accepts(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
