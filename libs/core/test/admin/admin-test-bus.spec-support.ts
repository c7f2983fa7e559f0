import { request as sendRequest, type Agent } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable, type CanActivate, type INestApplication } from '@nestjs/common';
import type { EventBusAdminModuleOptions } from '../../src/admin/http/admin-options.js';
import { EventBusAdminModule } from '../../src/admin/http/event-bus-admin.module.js';
import { ADMIN_RIGHTS } from '../../src/admin/api/admin-route.js';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface AdminRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: each request has a connection of its own. */
  readonly agent?: Agent;
}

/** Lets every request in that has the header of the operator. */
export class OperatorGuard implements CanActivate {
  canActivate(context: { switchToHttp(): { getRequest(): { headers: object } } }): boolean {
    return 'x-operator' in context.switchToHttp().getRequest().headers;
  }
}

/** One attempt and one tier, so that a failed record is soon a dead letter. */
const PROPERTIES: Partial<TopicBindingProperties> = {
  provisioning: 'create',
  retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
  circuitBreaker: { enabled: false },
};

/** An application with the admin API and one binding `orders`, whose handler fails until it is cured. */
export class AdminTestBus extends TestBus {
  application!: INestApplication;
  isCured = false;
  /** Calls of the handler, failed ones included. */
  calls = 0;
  readonly handled: unknown[] = [];

  static async started(
    admin: Partial<EventBusAdminModuleOptions> = {},
    options: Options = {},
    prepare: (application: INestApplication) => unknown = () => undefined,
  ): Promise<AdminTestBus> {
    const bus = new AdminTestBus();
    await bus.topic('orders');
    const bindings = {
      orders: { topic: 'orders', groupId: 'shop', ...PROPERTIES },
      ...options.bindings,
    };
    bus.application = await bus.startHttp(
      {
        imports: [
          bus.module({ bindingsWithoutHandler: 'allow', ...options, bindings }),
          EventBusAdminModule.register({
            access: { guards: [OperatorGuard] },
            allow: ADMIN_RIGHTS,
            who: ({ headers }: { headers: Record<string, string> }) => headers['x-operator'],
            ...admin,
          }),
        ],
        providers: [bus.#handlers()],
      },
      prepare,
    );
    await bus.application.listen(0, '127.0.0.1');
    return bus;
  }

  get port(): number {
    return portOf(this.application);
  }

  /** Writes records whose handler fails, and waits until they are dead letters. */
  async fails(...values: readonly string[]): Promise<void> {
    await this.write('orders', ...values);
    await this.runtime.advance(20_000);
  }

  /** Sends a request as operator ann, and drives the time of the bus until it is answered. */
  ask(method: string, path: string, request: AdminRequest = {}): Promise<AdminAnswer> {
    return this.done(this.send(method, `/eventbus/${path}`, request));
  }

  send(method: string, path: string, request: AdminRequest = {}): Promise<AdminAnswer> {
    return sendTo(this.application, method, path, request);
  }

  #handlers() {
    const handle = ({ value }: EventRecord): void => {
      this.calls++;
      if (!this.isCured) throw new Error('the warehouse does not answer');
      this.handled.push(value);
    };
    @Injectable()
    class Orders {
      @EventHandler('orders')
      onOrder(record: EventRecord): void {
        handle(record);
      }
    }
    return Orders;
  }
}

function portOf(application: INestApplication): number {
  return (application.getHttpServer() as { address(): AddressInfo }).address().port;
}

/** Sends a request to an application that listens, as operator ann. */
export function sendTo(
  application: INestApplication,
  method: string,
  path: string,
  { body, headers, agent }: AdminRequest = {},
): Promise<AdminAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = sendRequest(
      {
        host: '127.0.0.1',
        port: portOf(application),
        path,
        method,
        agent: agent ?? false,
        headers: {
          'x-operator': 'ann',
          ...(text !== undefined && {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(text)),
          }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          const isJson = String(response.headers['content-type']).includes('json');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: answer,
            body: (isJson ? JSON.parse(answer) : {}) as Record<string, unknown>,
          });
        });
      },
    );
    sent.on('error', reject).end(text);
  });
}
