import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CACHE_VARIABLE } from '../kafka/local/kafka-jars.js';
import { registryApp } from './registry-app.js';
import { SchemaRegistryError, SchemaRegistryUnavailableError } from './schema-registry-errors.js';
import { SCHEMA_REGISTRY_VARIABLE, SchemaRegistry } from './schema-registry.js';

const before = { ...process.env };
let machine: string;

beforeEach(() => {
  machine = mkdtempSync(join(tmpdir(), 'machine-'));
  mkdirSync(join(machine, 'bin'));
  delete process.env['JAVA_HOME'];
  delete process.env[SCHEMA_REGISTRY_VARIABLE];
  process.env['PATH'] = join(machine, 'bin');
  process.env[CACHE_VARIABLE] = join(machine, 'cache');
});
afterEach(() => {
  process.env = { ...before };
  rmSync(machine, { recursive: true });
});

function install(name: string, script: string): void {
  writeFileSync(join(machine, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

describe('SchemaRegistry in local Java', () => {
  const cached = (): string[] => readdirSync(join(machine, 'cache'));

  it('is downloaded once with Maven, and is complete when two processes download it at once', async () => {
    install('java', '');
    install(
      'mvn',
      '/bin/mkdir app; : > app/apicurio-registry-app-3.0.9-runner.jar; /bin/sleep 0.2',
    );
    const [one, other] = await Promise.all([registryApp(), registryApp()]);
    expect(one).toEqual(other);
    expect(existsSync(one.jar)).toBe(true);
    expect(cached()).toEqual(['apicurio-registry-3.0.9']);
    rmSync(join(machine, 'bin', 'mvn'));
    await expect(registryApp()).resolves.toEqual(one);
    expect(SchemaRegistry.missing()).toBeUndefined();
  });

  it('is unavailable without Java, and without Maven if it is not in the cache yet', async () => {
    expect(SchemaRegistry.missing()).toContain('no "java"');
    await expect(SchemaRegistry.start()).rejects.toThrow(/^skipped: .*no "java"/);
    install('java', '');
    expect(SchemaRegistry.missing()).toContain('no "mvn" in PATH');
    await expect(SchemaRegistry.start()).rejects.toBeInstanceOf(SchemaRegistryUnavailableError);
  });

  it('leaves no file in the cache if Maven cannot download it', async () => {
    install('java', '');
    install('mvn', 'echo no route to host; exit 1');
    const attempt = SchemaRegistry.start();
    await expect(attempt).rejects.toThrow('no route to host');
    await expect(attempt).rejects.toBeInstanceOf(SchemaRegistryUnavailableError);
    expect(cached()).toEqual([]);
  });

  it('throws an error with the output of a registry that does not start', async () => {
    install('java', 'echo UnsupportedClassVersionError >&2; exit 1');
    install('mvn', '/bin/mkdir app');
    const attempt = SchemaRegistry.start();
    await expect(attempt).rejects.toThrow('UnsupportedClassVersionError');
    await expect(attempt).rejects.toBeInstanceOf(SchemaRegistryError);
  });
});

describe('SchemaRegistry with SCHEMA_REGISTRY_URL', () => {
  let server: Server;
  let status: number;

  beforeEach(async () => {
    status = 200;
    server = createServer((_, response) => response.writeHead(status).end('{"id":7}'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    process.env[SCHEMA_REGISTRY_VARIABLE] = `http://127.0.0.1:${port}/v7`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is preferred to a local registry, and cannot be killed', async () => {
    expect(SchemaRegistry.missing()).toBeUndefined();
    await using registry = await SchemaRegistry.start();
    expect(registry).toMatchObject({
      source: 'external',
      url: process.env[SCHEMA_REGISTRY_VARIABLE],
    });
    expect(await registry.register('orders-value', 'string')).toBe(7);
    await expect(registry.kill()).rejects.toBeInstanceOf(SchemaRegistryUnavailableError);
    await expect(registry.restart()).rejects.toBeInstanceOf(SchemaRegistryUnavailableError);
  });

  it('starts a registry of its own with controllable: true', async () => {
    expect(SchemaRegistry.missing({ controllable: true })).toContain('no "java"');
    await expect(SchemaRegistry.start({ controllable: true })).rejects.toThrow('no "java"');
  });

  it('throws an error if the registry at that address does not answer', async () => {
    status = 404;
    await expect(SchemaRegistry.start({ startTimeoutMs: 100 })).rejects.toThrow(
      'was not ready after 100 ms: it answers with HTTP status 404',
    );
  });
});
