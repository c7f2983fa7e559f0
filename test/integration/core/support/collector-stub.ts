import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
}

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Ids of the spans to which it links. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Sends OTLP JSON over HTTP. The exporter of the SDK loads its client by a dynamic import, which
 * Jest refuses.
 */
export class CollectorExporter implements SpanExporter {
  constructor(private readonly url: string) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    void this.#export(spans, done);
  }

  async shutdown(): Promise<void> {}

  async #export(spans: ReadableSpan[], done: (result: ExportResult) => void): Promise<void> {
    try {
      await this.#send(spans);
    } catch (error) {
      done({ code: ExportResultCode.FAILED, error: error as Error });
      return;
    }
    done({ code: ExportResultCode.SUCCESS });
  }

  async #send(spans: ReadableSpan[]): Promise<void> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []),
    });
    if (!response.ok) throw new Error(`The collector answered ${response.status}.`);
  }
}

/** An HTTP server that receives traces as OTLP JSON. */
export class CollectorStub {
  readonly spans: CollectedSpan[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#receive(request).then(
        () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
        (error: unknown) => response.writeHead(400).end(String(error)),
      );
    });
  }

  static async start(): Promise<CollectorStub> {
    const stub = new CollectorStub();
    await new Promise<void>((resolve) => stub.#server.listen(0, '127.0.0.1', resolve));
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as OtlpTraces;
    const scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans);
    this.spans.push(...scopes.flatMap(({ spans }) => spans.map(collected)));
  }
}

function collected({ links = [], attributes, parentSpanId, ...span }: OtlpSpan): CollectedSpan {
  return {
    name: span.name,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
    links: links.map(({ spanId }) => spanId),
    attributes: Object.fromEntries(
      attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]),
    ),
  };
}
