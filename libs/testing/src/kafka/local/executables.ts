import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

export function findJava(environment: Environment = process.env): string | undefined {
  return findBesideJava('java', environment);
}

export function findKeytool(environment: Environment = process.env): string | undefined {
  return findBesideJava('keytool', environment);
}

export function findMaven(environment: Environment = process.env): string | undefined {
  return findExecutable('mvn', environment);
}

function findBesideJava(name: string, environment: Environment): string | undefined {
  const home = environment['JAVA_HOME'];
  const atHome = home === undefined ? undefined : executableAt(join(home, 'bin', name));
  return atHome ?? findExecutable(name, environment);
}

function findExecutable(name: string, environment: Environment): string | undefined {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const found = executableAt(join(folder, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function executableAt(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    // A missing file and a file without permission are treated alike.
    return undefined;
  }
}
