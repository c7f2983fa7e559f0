import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findJava, findMaven } from '../kafka/local/executables.js';
import { cacheFolder } from '../kafka/local/kafka-jars.js';
import { CommandError, runCommand } from '../kafka/local/run-command.js';
import { SchemaRegistryUnavailableError } from './schema-registry-errors.js';

const VERSION = '3.0.9';
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;

/** What is needed to run the registry, all of it on disk. */
export interface RegistryApp {
  readonly java: string;
  readonly jar: string;
}

/** What this machine lacks; undefined where nothing is known to be missing. */
export function missingForRegistry(): string | undefined {
  if (findJava() === undefined) return 'no "java" in JAVA_HOME or PATH';
  if (process.platform === 'win32') return 'it is run by sh, which Windows has not';
  if (existsSync(appFolder()) || findMaven() !== undefined) return undefined;
  return `the registry is not in ${appFolder()}, and no "mvn" in PATH can fetch it`;
}

/** The first call on a machine fetches 100 MB with Maven, later ones need none. */
export async function registryApp(): Promise<RegistryApp> {
  const missing = missingForRegistry();
  const java = findJava();
  if (missing !== undefined || java === undefined)
    throw new SchemaRegistryUnavailableError(missing ?? 'no "java"');
  const folder = appFolder();
  if (!existsSync(folder)) await provision(folder);
  return { java, jar: join(folder, `apicurio-registry-app-${VERSION}-runner.jar`) };
}

const appFolder = (): string => join(cacheFolder(), `apicurio-registry-${VERSION}`);

/** Unpacked in a folder aside and renamed at the end: what has the final name is whole, whoever was first. */
async function provision(folder: string): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const staging = await mkdtemp(`${folder}.staging-`);
  try {
    const goal = ['dependency:unpack', `-Dartifact=${ARTIFACT}`, '-DoutputDirectory=app'];
    await runCommand(findMaven() ?? 'mvn', ['-q', '-B', '-Dstyle.color=never', ...goal], {
      cwd: staging,
      timeoutMs: 600_000,
    });
    await moveIntoPlace(join(staging, 'app'), folder);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const reason = `${ARTIFACT} could not be fetched: ${error.message}`;
    throw new SchemaRegistryUnavailableError(reason, { cause: error });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function moveIntoPlace(app: string, folder: string): Promise<void> {
  try {
    await rename(app, folder);
  } catch (error) {
    // Another process was faster: its folder is as good as ours.
    if (!existsSync(folder)) throw error;
  }
}
