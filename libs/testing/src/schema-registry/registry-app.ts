import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findJava, findMaven } from '../kafka/local/executables.js';
import { cacheFolder } from '../kafka/local/kafka-jars.js';
import { CommandError, runCommand } from '../kafka/local/run-command.js';
import { SchemaRegistryUnavailableError } from './schema-registry-errors.js';

const VERSION = '3.0.9';
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;

/** The files for running the registry. */
export interface RegistryApp {
  readonly java: string;
  readonly jar: string;
}

/** Returns what this machine lacks; undefined if nothing is known to be missing. */
export function missingForRegistry(): string | undefined {
  if (findJava() === undefined) return 'no "java" in JAVA_HOME or PATH';
  if (process.platform === 'win32') return 'it is run by sh, which Windows does not have';
  if (existsSync(appFolder()) || findMaven() !== undefined) return undefined;
  return `the registry is not in ${appFolder()}, and no "mvn" in PATH can fetch it`;
}

/** Returns the registry. The first call on a machine downloads 100 MB with Maven. */
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

/**
 * Unpacks into a staging folder and renames it at the end, so that the final folder is always
 * complete, even if several processes do this at once.
 */
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
    // The folder of a faster process has the same content.
    if (!existsSync(folder)) throw error;
  }
}
