import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { realRuntime, type Runtime, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { resolvedOrders } from '../../config/configuration.spec-support.js';
import type { SchemaRegistryProperties } from '../../config/properties/format-properties.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import { recordingLogger } from '../pipeline.spec-support.js';
import { SchemaRegistryClient } from './schema-registry-client.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let answer: Answer;
let requests: IncomingMessage[];
let logger: ReturnType<typeof recordingLogger>;

beforeEach(async () => {
  requests = [];
  logger = recordingLogger();
  server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const json =
  (body: unknown, status = 200): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const client = (
  properties: Partial<SchemaRegistryProperties> = {},
  runtime: Runtime = realRuntime,
): SchemaRegistryClient => {
  const { port } = server.address() as AddressInfo;
  const schemaRegistry = { url: `http://127.0.0.1:${port}/apis/ccompat/v7`, ...properties };
  const { schemaRegistry: registry } = resolvedOrders({ schemaRegistry });
  return new SchemaRegistryClient(registry!, runtime, logger);
};

describe('SchemaRegistryClient', () => {
  const schema = '{"type":"string"}';

  it('requests a schema by its id, below the path of the url', async () => {
    const references = [{ name: 'a', subject: 'a-value', version: 2 }];
    answer = json({ schema, references });
    await expect(client().schemaById(7)).resolves.toMatchObject({
      type: 'AVRO',
      schema,
      references,
    });
    expect(requests.map(({ url }) => url)).toEqual(['/apis/ccompat/v7/schemas/ids/7']);
  });

  it('does not repeat a token that cannot be sent', async () => {
    const { port } = server.address() as AddressInfo;
    const registry = {
      ...resolvedOrders({ schemaRegistry: { url: `http://127.0.0.1:${port}` } }).schemaRegistry!,
      requestHeaders: () => ({ authorization: 'Bearer s3cr3t\nline' }),
    };
    const asking = new SchemaRegistryClient(registry, realRuntime, logger).schemaById(7);
    const error: unknown = await asking.catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(SchemaRegistryUnavailableException);
    expect((error as Error).message).toContain('did not answer (TypeError)');
    expect(`${inspect(error)} ${JSON.stringify(logger.lines)}`).not.toContain('s3cr3t');
  });

  it('requests a version of a subject, whatever its name', async () => {
    answer = json({ schema, id: 3, schemaType: 'JSON' });
    await expect(client().schemaOf('a/b c', 'latest')).resolves.toEqual({
      id: 3,
      type: 'JSON',
      schema,
      references: [],
    });
    expect(requests[0]?.url).toBe('/apis/ccompat/v7/subjects/a%2Fb%20c/versions/latest');
  });

  it('sends the username, password and headers', async () => {
    answer = json({ schema });
    await client().schemaById(1);
    expect(requests[0]?.headers.authorization).toBeUndefined();
    const auth = { username: 'me', password: 'pass' };
    await client({ auth, headers: { 'x-tenant': 'shop' } }).schemaById(1);
    expect(requests[1]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from('me:pass').toString('base64')}`,
      'x-tenant': 'shop',
    });
  });
});

describe('A schema that the registry does not know', () => {
  it.each([40_401, 40_402, 40_403])(
    'makes the request fail with an error that is not retriable: %i',
    async (error_code) => {
      answer = json({ error_code, message: 'not found' }, 404);
      const attempt = client().schemaById(9);
      await expect(attempt).rejects.toThrow('the schema registry knows no schema 9');
      await expect(attempt).rejects.not.toBeInstanceOf(SchemaRegistryUnavailableException);
    },
  );
});

describe('An id or a version that the registry refuses', () => {
  it.each([
    [422, 42_202],
    [400, 40_001],
  ])(
    'makes the request fail with an error that is not retriable: status %i with code %i',
    async (status, error_code) => {
      answer = json({ error_code, message: 'The specified version is not valid' }, status);
      const attempt = client().schemaById(9);
      await expect(attempt).rejects.toThrow(`the schema registry refuses schema 9 (${error_code})`);
      await expect(attempt).rejects.not.toBeInstanceOf(SchemaRegistryUnavailableException);
    },
  );
});

describe('A registry without a usable answer', () => {
  const unavailable = async (
    properties: Partial<SchemaRegistryProperties> = {},
    runtime?: Runtime,
  ): Promise<string> => {
    const error = await client(properties, runtime)
      .schemaById(1)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SchemaRegistryUnavailableException);
    expect(error).toMatchObject({ code: 'SCHEMA_REGISTRY_UNAVAILABLE', retriable: true });
    return (error as Error).message;
  };

  it.each([
    [500, 'HTTP status 500'],
    [503, 'HTTP status 503'],
    [429, 'HTTP status 429'],
    [401, 'are the credentials right?'],
    [403, 'are the credentials right?'],
    [404, 'is the path of the url right?'],
    [400, 'HTTP status 400'],
    [422, 'HTTP status 422'],
  ])('makes the request fail with a retriable error: status %i', async (status, message) => {
    for (const body of [{ message: 'x' }, { error_code: status }, { error_code: '42202' }]) {
      answer = json(body, status);
      expect(await unavailable()).toContain(message);
    }
  });

  it.each([
    ['no JSON', '<html>'],
    ['no schema', '{}'],
    ['a list', '[]'],
    ['invalid references', '{"schema":"x","references":[{"subject":1}]}'],
  ])('makes the request fail with a retriable error: %s', async (_, body) => {
    answer = (_request, response) => void response.end(body);
    expect(await unavailable()).toContain('none of a schema registry');
  });

  it('makes the request fail with a retriable error when its connection breaks', async () => {
    answer = (_, response) => {
      response.write('{"schema":');
      setImmediate(() => response.destroy());
    };
    await unavailable();
  });

  it('makes the request fail with a retriable error when no server listens', async () => {
    expect(await unavailable({ url: 'http://127.0.0.1:1/v7' })).toMatch(/127.0.0.1:1\/v7 did not/);
  });

  it.each([
    ['answer', (): void => undefined],
    ['finish', (_: unknown, response: ServerResponse): void => void response.write('{')],
  ])(
    'makes the request fail, and closes its connection, if it does not %s within timeoutMs',
    async (_, hang) => {
      const runtime = new VirtualRuntime();
      let closed: Promise<unknown> = Promise.resolve();
      const arrived = new Promise<void>((resolve) => {
        answer = (request, response) => {
          closed = once(request.socket, 'close');
          hang(request, response);
          resolve();
        };
      });
      const refused = unavailable({ timeoutMs: 50 }, runtime);
      await arrived;
      await runtime.advance(50);
      expect(await refused).toContain('did not answer within 50 ms');
      await closed;
    },
  );

  it('is logged once, as is its recovery', async () => {
    const one = client();
    for (const each of [json({}, 500), json({}, 503), json({ schema: '"int"' }), json({}, 500)]) {
      answer = each;
      await one.schemaById(1).catch(() => undefined);
    }
    expect(logger.lines.map(({ level, message }) => [level, message.slice(-15)])).toEqual([
      ['warn', 'in the options.'],
      ['info', ' answers again.'],
      ['warn', 'in the options.'],
    ]);
  });

  it('is not assumed if the registry answers that it has no such schema', async () => {
    const one = client();
    answer = json({ error_code: 40_403 }, 404);
    await one.schemaById(1).catch(() => undefined);
    expect(logger.lines).toEqual([]);
  });

  it('is described without passwords or header values', async () => {
    answer = json({}, 401);
    const auth = { username: 'me', password: 'sesame' };
    expect(await unavailable({ auth, headers: { 'x-token': 'sesame' } })).not.toContain('sesame');
  });
});
