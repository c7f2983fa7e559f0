import { Inject, Injectable, StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Readable } from 'node:stream';
import { RightNotAllowedException } from '../../errors/admin-errors.js';
import { EventBusShuttingDownException } from '../../errors/container-errors.js';
import type { AdminCaller } from '../api/admin-reply.js';
import type { AdminInput, AdminRoute } from '../api/admin-route.js';
import { EventBusAdmin } from '../event-bus-admin.js';
import { ADMIN_SETTINGS, type AdminSettings } from './admin-options.js';
import { readRequest, type HttpRequest } from './admin-request.js';
import { refuseCrossSite } from './cross-site.js';

/** What every handler of a route returns, whatever its route. */
interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly location?: string | undefined;
}

type Handler = (input: AdminInput<AdminRoute>, caller: AdminCaller) => Reply | Promise<Reply>;

interface HttpResponse {
  once?(event: 'close', listener: () => void): unknown;
  readonly raw?: HttpResponse;
}

/** Takes the requests of all routes: checks them, calls their handler and writes the answer. */
@Injectable()
export class AdminGateway {
  constructor(
    @Inject(ADMIN_SETTINGS) private readonly settings: AdminSettings,
    @Inject(EventBusAdmin) private readonly admin: EventBusAdmin,
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
  ) {}

  async answer(
    route: AdminRoute,
    handler: Handler,
    request: HttpRequest,
    response: HttpResponse,
  ): Promise<unknown> {
    const { allow, trustedOrigins, who } = this.settings;
    if (!allow.has(route.right)) throw new RightNotAllowedException(route.right);
    refuseCrossSite(request, trustedOrigins);
    if (route.changes && this.admin.health().isShuttingDown)
      throw new EventBusShuttingDownException('run a command of the admin API');
    const input = readRequest(route, request);
    const by = await who(request as never);
    const gone = new AbortController();
    (response.raw ?? response).once?.('close', () => gone.abort());
    const basePath = basePathOf(route, request);
    const reply = await handler(input, { by, basePath, signal: gone.signal });
    return this.#write(route, reply, basePath, response);
  }

  #write(
    route: AdminRoute,
    { status, body, location }: Reply,
    basePath: string,
    response: HttpResponse,
  ): unknown {
    const { httpAdapter } = this.adapter;
    httpAdapter.status(response, status);
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    if (location !== undefined)
      httpAdapter.setHeader(response, 'Location', `${basePath}/${location}`);
    if (!route.answers[status]?.isStream) return body;
    httpAdapter.setHeader(response, 'Content-Type', 'text/event-stream');
    httpAdapter.setHeader(response, 'X-Accel-Buffering', 'no');
    return new StreamableFile(Readable.from(serverSentEvents(body as AsyncIterable<unknown>)));
  }
}

/** Returns the path of the API as the client has written it, with prefixes and versions. */
export function basePathOf(route: AdminRoute, { originalUrl, url }: HttpRequest): string {
  const [path = ''] = (originalUrl ?? url).split('?');
  const segments = path.replace(/\/$/, '').split('/');
  return segments.slice(0, -route.path.split('/').length).join('/');
}

async function* serverSentEvents(values: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  for await (const value of values) yield `data: ${JSON.stringify(value)}\n\n`;
}
