import { sleep, within, type Runtime } from '@nest-event-bus/broker/runtime';
import { RabbitServerError } from './rabbit-errors.js';

const TIMEOUT_MS = 10_000;

/** What the management plugin says of a connection. */
export interface RabbitConnection {
  readonly name: string;
  /** `running`, `blocked`, `blocking` or `flow`. Missing until the first figures are collected. */
  readonly state?: string;
  readonly client_properties?: Readonly<Record<string, unknown>>;
}

/** What the management plugin says of a queue. Figures are missing until they are collected. */
export interface RabbitQueue {
  readonly name: string;
  readonly type?: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly messages?: number;
  readonly consumers?: number;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** The HTTP interface of the management plugin, in the virtual host `/`. */
export class RabbitManagement {
  constructor(
    private readonly runtime: Runtime,
    readonly url: string,
    private readonly login: { readonly user: string; readonly password: string },
  ) {}

  async connections(): Promise<readonly RabbitConnection[]> {
    return (await this.request('GET', '/api/connections')) as readonly RabbitConnection[];
  }

  /** Closes all connections as an operator does, and returns their number. */
  async closeConnections(reason = 'closed by a test'): Promise<number> {
    const open = await this.connections();
    await Promise.all(
      open.map(async ({ name }) => {
        const path = `/api/connections/${encodeURIComponent(name)}`;
        const { status, body } = await this.#answer('DELETE', path, undefined, {
          'x-reason': reason,
        });
        // A connection that is gone already needs no closing.
        if (status >= 300 && status !== 404) throw refused('DELETE', path, { status, body });
      }),
    );
    return open.length;
  }

  async queues(): Promise<readonly RabbitQueue[]> {
    return (await this.request('GET', '/api/queues/%2F')) as readonly RabbitQueue[];
  }

  async queue(name: string): Promise<RabbitQueue> {
    return (await this.request(
      'GET',
      `/api/queues/%2F/${encodeURIComponent(name)}`,
    )) as RabbitQueue;
  }

  /** Sends a request, and returns the parsed answer; undefined if the answer has no body. */
  async request(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#answer(method, path, body);
    if (answer.status >= 300) throw refused(method, path, answer);
    return answer.body === '' ? undefined : JSON.parse(answer.body);
  }

  /**
   * Waits until clients can connect to the port. `fatalReason` is called between two requests and
   * returns a reason to stop waiting.
   */
  async untilListening(
    port: number,
    timeoutMs: number,
    fatalReason: () => string | undefined,
  ): Promise<void> {
    const deadline = this.runtime.monotonic() + timeoutMs;
    for (;;) {
      const problem = await this.#problemOf(port);
      if (problem === undefined) return;
      const reason = fatalReason();
      if (reason !== undefined) throw new RabbitServerError(reason);
      if (this.runtime.monotonic() >= deadline)
        throw new RabbitServerError(`it was not ready after ${timeoutMs} ms: ${problem}`);
      await sleep(this.runtime, 50);
    }
  }

  async #problemOf(port: number): Promise<string | undefined> {
    try {
      const path = `/api/health/checks/port-listener/${port}`;
      const { status } = await this.#answer('GET', path);
      return status === 200 ? undefined : `the health check answers with HTTP status ${status}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #answer(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const abort = new AbortController();
    const { user, password } = this.login;
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const read = async (): Promise<Answer> => {
      const response = await fetch(this.url + path, {
        method,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: abort.signal,
      });
      return { status: response.status, body: await response.text() };
    };
    return within(this.runtime, TIMEOUT_MS, read(), () => {
      abort.abort();
      return new RabbitServerError(`${method} ${path} was not answered within ${TIMEOUT_MS} ms.`);
    });
  }
}

function refused(method: string, path: string, { status, body }: Answer): RabbitServerError {
  return new RabbitServerError(
    `${method} ${path} was answered with HTTP status ${status}: ${body}`,
  );
}
