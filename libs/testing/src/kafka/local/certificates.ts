import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KafkaUnavailableError } from '../kafka-unavailable-error.js';
import type { Certificates } from '../security-options.js';
import { findKeytool } from './executables.js';
import { HOST } from './listeners.js';
import { runCommand } from './run-command.js';

const PASSWORD = 'only-for-tests';
const QUICK_JVM = ['-J-XX:+UseSerialGC', '-J-XX:TieredStopAtLevel=1'];

export const missingKeytool = 'no "keytool" in JAVA_HOME or PATH to make certificates with';

/**
 * Creates the certificates of the brokers and of a client in a folder, each self-signed. Node
 * cannot create certificates, so keytool is used, which is part of every Java that runs a broker.
 */
export async function makeCertificates(folder: string): Promise<Certificates> {
  await Promise.all([
    makeCertificate(folder, 'broker', ['-ext', `SAN=ip:${HOST},dns:localhost`]),
    makeCertificate(folder, 'client'),
  ]);
  return {
    ca: await readFile(join(folder, 'broker.pem'), 'utf8'),
    client: { pfx: await readFile(join(folder, 'client.p12')), passphrase: PASSWORD },
  };
}

/** Returns the broker settings for the certificates. */
export function certificateSettings(folder: string): Record<string, string> {
  return {
    'ssl.keystore.type': 'PKCS12',
    'ssl.keystore.location': join(folder, 'broker.p12'),
    'ssl.keystore.password': PASSWORD,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': join(folder, 'client.pem'),
  };
}

async function makeCertificate(
  folder: string,
  name: string,
  extensions: readonly string[] = [],
): Promise<void> {
  const store = ['-alias', name, '-keystore', `${name}.p12`, '-storepass', PASSWORD];
  const key = ['-storetype', 'PKCS12', '-keyalg', 'EC', '-groupname', 'secp256r1'];
  const subject = ['-dname', `CN=${name}`, '-validity', '3650', ...extensions];
  await keytool(folder, ['-genkeypair', ...store, ...key, ...subject]);
  await keytool(folder, ['-exportcert', '-rfc', ...store, '-file', `${name}.pem`]);
}

async function keytool(folder: string, args: readonly string[]): Promise<void> {
  const command = findKeytool();
  if (command === undefined) {
    const refusal = { source: 'local Java', reason: missingKeytool };
    throw new KafkaUnavailableError([refusal], 'Java with keytool');
  }
  await runCommand(command, [...args, ...QUICK_JVM], { cwd: folder, timeoutMs: 60_000 });
}
