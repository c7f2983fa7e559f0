import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, ROOT } from './demo-process.js';

interface Answer<T> {
  readonly status: string;
  readonly error?: string;
  readonly data: T;
}

interface LoadedRule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

/** Returns undefined where Debian's package prometheus is not installed. */
export function prometheusProgram(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v prometheus'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** A Prometheus with the shipped rules, which scrapes one application. */
export class PrometheusProcess {
  readonly #folder = mkdtempSync(join(tmpdir(), 'nest-event-bus-prometheus-'));
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(program: string, port: number, application: string) {
    const config = join(this.#folder, 'prometheus.yml');
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [join(ROOT, 'deploy/prometheus-rules.yml')],
        scrape_configs: [
          {
            job_name: 'orders',
            metrics_path: '/metrics',
            static_configs: [{ targets: [application.replace('http://', '')] }],
          },
        ],
      }),
    );
    this.#url = `http://127.0.0.1:${port}`;
    this.#child = spawn(
      program,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.#folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
  }

  /** Starts on a free port, and waits until the application was scraped twice, as rates need. */
  static async start(program: string, application: string): Promise<PrometheusProcess> {
    const prometheus = new PrometheusProcess(program, await freePort(), application);
    await eventually(
      () => prometheus.valuesOf('count_over_time(up[5m]) and up == 1'),
      ([scrapes]) => Number(scrapes) >= 2,
    );
    return prometheus;
  }

  /** Returns the values of an instant query. Empty until Prometheus answers. */
  async valuesOf(query: string): Promise<readonly string[]> {
    const path = `query?query=${encodeURIComponent(query)}`;
    const answer = await this.#get<{ result: readonly { value: [number, string] }[] }>(path);
    if (!answer) return [];
    if (answer.status !== 'success') throw new Error(`${query}: ${answer.error}`);
    return answer.data.result.map(({ value: [, text] }) => text);
  }

  async rules(): Promise<readonly LoadedRule[]> {
    type Groups = { groups: readonly { rules: readonly LoadedRule[] }[] };
    const answer = await this.#get<Groups>('rules');
    return answer?.data.groups.flatMap(({ rules }) => rules) ?? [];
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #get<T>(path: string): Promise<Answer<T> | undefined> {
    try {
      const response = await fetch(`${this.#url}/api/v1/${path}`);
      return (await response.json()) as Answer<T>;
    } catch {
      return undefined;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
