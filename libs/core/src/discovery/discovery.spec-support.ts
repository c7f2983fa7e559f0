import { Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { EventContext } from '../model/records/event-context.js';
import type { EventRecord } from '../model/records/event-record.js';
import type { HandlerDefinition } from './exploring/handler-definition.js';
import { HandlerExplorer, type Discovered } from './exploring/handler-explorer.js';

export interface Explored extends Discovered {
  readonly app: TestingModule;
}

/** Starts an application with these providers and returns what the explorer finds in it. */
export async function explore(
  metadata: ModuleMetadata,
  prepare: (app: TestingModule) => unknown = () => undefined,
): Promise<Explored> {
  const app = await Test.createTestingModule({
    ...metadata,
    imports: [DiscoveryModule, ...(metadata.imports ?? [])],
    providers: [HandlerExplorer, ...(metadata.providers ?? [])],
  }).compile();
  prepare(app);
  await app.init();
  const discovered = app.get(HandlerExplorer).explore();
  if (discovered.problems.length > 0) throw new HandlerDiscoveryException(discovered.problems);
  return { app, ...discovered };
}

/** Returns the problems that stop the start of an application with these providers. */
export async function problemsOf(metadata: ModuleMetadata): Promise<readonly string[]> {
  const outcome = await explore(metadata).catch((error: HandlerDiscoveryException) => error);
  return 'problems' in outcome ? outcome.problems : [];
}

/** Creates a module with a name, which appears in messages. */
export function moduleNamed(name: string, metadata: ModuleMetadata): Type<unknown> {
  const type = { [name]: class {} }[name]!;
  Module(metadata)(type);
  return type;
}

export function recordOf(value: unknown, offset = 0): EventRecord {
  const headers = new Map([
    ['trace', 'abc'],
    ['offset', String(offset)],
  ]);
  return {
    value,
    key: `key-${offset}`,
    topic: 'orders.events',
    partition: 0,
    offset: BigInt(offset),
    timestamp: 0,
    headers: {
      get: (name) => headers.get(name),
      getAll: (name) => (headers.has(name) ? [headers.get(name)!] : []),
      has: (name) => headers.has(name),
      names: () => [...headers.keys()],
      toJSON: () => Object.fromEntries(headers),
    },
    toJSON: () => ({}),
  };
}

export function contextOf(warnings: string[] = []): EventContext {
  const log = { warn: (message: string) => warnings.push(message) };
  return { binding: 'orders', log } as unknown as EventContext;
}

/** Calls a record handler as the pipeline does. */
export async function deliver(
  { invoke }: Pick<HandlerDefinition, 'invoke'>,
  record: EventRecord = recordOf({ id: 1 }),
  context: EventContext = contextOf(),
): Promise<unknown> {
  return invoke([record], [context]);
}

/** Returns the error of a delivery; undefined if it succeeds. */
export async function failureOf(handler: Pick<HandlerDefinition, 'invoke'>): Promise<unknown> {
  try {
    await deliver(handler);
    return undefined;
  } catch (error) {
    return error;
  }
}
