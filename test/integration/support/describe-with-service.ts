import { execFileSync } from 'node:child_process';

/** Databases that a suite uses if they are available. */
const SERVICES = {
  PostgreSQL: ['POSTGRES_URL', 'postgres://postgres@127.0.0.1:5432/test'],
  MySQL: ['MYSQL_URL', 'mysql://root@127.0.0.1:3306'],
  Redis: ['REDIS_URL', 'redis://127.0.0.1:6379'],
} as const;

/** Declares a suite with such a database; skipped by name if there is no answer at its address. */
export function describeWithService(
  service: keyof typeof SERVICES,
  name: string,
  suite: (url: string) => void,
): void {
  const [variable, usual] = SERVICES[service];
  const url = process.env[variable] ?? usual;
  if (isThere(url)) return describe(name, () => suite(url));
  const missing = `no ${service} answers at ${new URL(url).host} (${variable})`;
  process.stderr.write(`SKIPPED, ${name}: ${missing}\n`);
  describe(name, () => it.skip(missing, () => undefined));
}

/** Checks whether a server listens at the address, in a child process, because suites are declared synchronously. */
export function isThere(url: string): boolean {
  const { hostname, port } = new URL(url);
  const knock = `require('node:net').connect(${Number(port)}, ${JSON.stringify(hostname)}).on('connect', () => process.exit(0)).on('error', () => process.exit(1)).setTimeout(3000, () => process.exit(1))`;
  try {
    execFileSync(process.execPath, ['-e', knock], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
