import { join, resolve } from 'node:path';
import ts from 'typescript';

const ROOT = resolve(__dirname, '../../../..');

const PRELUDE = `
  import {
    DltAlert, DltHandler, EventBusConnector, EventBusModule, EventHandler, EventPublisher,
    HandlesEvents, LifecycleManager,
  } from '@nest-event-bus/core';
  import type { BindingRef, EventContext, EventRecord, FeatureConsumer } from '@nest-event-bus/core';
  import { applyDecorators, UseGuards } from '@nestjs/common';

  interface OrderPlaced { id: number }
  interface OrderCancelled { reason: string }
  declare module '@nest-event-bus/core' {
    interface EventBusBindings { orders: OrderPlaced | OrderCancelled; raw: unknown }
  }
  declare const publisher: EventPublisher;
  declare const connector: EventBusConnector;
  declare const lifecycle: LifecycleManager;
  declare const name: string;
  declare const ref: BindingRef;
  declare const handle: (record: EventRecord<OrderPlaced | OrderCancelled>) => void;
  const bindings = { topic: 'orders', groupId: 'shop' };
`;

/** Each line is compiled in a file of its own that declares the binding 'orders'. */
const ACCEPTED = [
  `publisher.publishAll('orders', [{ event: { id: 1 }, key: 'a' }]);`,
  `publisher.publish('orders', { id: 1 });`,
  `publisher.publish('orders', null);`,
  `publisher.publish({ cluster: 'default', name: 'orders' }, { reason: 'late' });`,
  `publisher.publish(name, 'anything');`,
  `publisher.publish(ref, 'anything');`,
  `connector.pause('orders');`,
  `connector.pause(name);`,
  `connector.pause(ref);`,
  `connector.pause({ cluster: 'default', name });`,
  `connector.register('orders', bindings, handle);`,
  `connector.register(\`tenant-\${name}\`, bindings, (record: EventRecord<string>) => record.value);`,
  `EventBusModule.forRoot({ bindings: { orders: bindings } });`,
  `EventBusModule.forRoot({ bindings: { ['temporary' as string]: bindings } });`,
  `EventBusModule.forRoot({ bindings: {} as Record<string, typeof bindings> });`,
  `EventBusModule.forFeature({ bindings: { orders: bindings } });`,
  `class A { @EventHandler('temporary' as string) on(record: EventRecord<string>) {} }`,
  `class A { @EventHandler('orders', { type: 'OrderPlaced' }) on(record: EventRecord<OrderPlaced>) {} }`,
  `class A { @DltHandler('orders') on() {} @DltAlert() all() {} }`,
];

const REFUSED = [
  `publisher.publish('odrers', { id: 1 });`,
  `publisher.publish('orders', { id: 'one' });`,
  `publisher.publishAll('orders', [{ event: { id: 'one' } }]);`,
  `publisher.publishAll('odrers', []);`,
  `publisher.publish({ cluster: 'default', name: 'odrers' }, { id: 1 });`,
  `connector.pause('odrers');`,
  `connector.pause({ cluster: 'default', name: 'odrers' });`,
  `connector.decide('odrers', { topic: 'orders', partition: 0 }, 'skip');`,
  `connector.register('odrers', bindings, handle);`,
  `connector.register('orders', bindings, (record: EventRecord<Date>) => record.value);`,
  `lifecycle.resumeTier('odrers', 1);`,
  `EventBusModule.forRoot({ bindings: { odrers: bindings } });`,
  `EventBusModule.forFeature({ bindings: { odrers: bindings } });`,
  `class A { @EventHandler('odrers') on() {} }`,
  `class A { @DltHandler('odrers') on() {} }`,
  `class A { @DltAlert('odrers') on() {} }`,
  `const consumer: Pick<FeatureConsumer, 'binding'> = { binding: 'odrers' };`,
];

const COMPOSED = [
  `class A { @applyDecorators(EventHandler('orders'), UseGuards()) on(record: EventRecord) {} }`,
  `class A { @applyDecorators(EventHandler.Batch('orders'), UseGuards()) on(records: EventRecord[]) {} }`,
  `class A { @applyDecorators(DltHandler('orders'), DltAlert()) on() {} }`,
];

const WRONG_SHAPES = [
  `class A { @EventHandler('raw') on(records: EventRecord[]) {} }`,
  `class A { @EventHandler('raw') on(record: EventRecord, contexts: EventContext[]) {} }`,
  `class A { @EventHandler.Batch('raw') on(record: EventRecord) {} }`,
  `class A { @EventHandler.Batch('raw') on(records: EventRecord[], context: EventContext) {} }`,
  `class A { @EventHandler('orders') on(record: EventRecord<OrderPlaced>) {} }`,
  `class A { @EventHandler('orders', { type: 'Other' }) on(record: EventRecord<Date>) {} }`,
  `class A { @EventHandler('raw') property = 1; }`,
  `@EventHandler('raw') class A {}`,
];

let errors: ReadonlyMap<string, readonly string[]>;

beforeAll(() => {
  errors = errorsOf([...ACCEPTED, ...REFUSED, ...COMPOSED, ...WRONG_SHAPES]);
}, 120_000);

describe('EventBusBindings', () => {
  it.each(ACCEPTED)('accepts %s', (line) => {
    expect(errors.get(line)).toEqual([]);
  });

  it.each(REFUSED)('refuses %s', (line) => {
    expect(errors.get(line)).toHaveLength(1);
  });
});

describe('EventHandler', () => {
  it.each(COMPOSED)('may be composed: %s', (line) => {
    expect(errors.get(line)).toEqual([]);
  });

  it.each(WRONG_SHAPES)('refuses a handler of another shape: %s', (line) => {
    expect(errors.get(line)).toHaveLength(1);
  });
});

function errorsOf(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const sources = new Map(
    lines.map((line, index) => [join(__dirname, `declared-${index}.ts`), PRELUDE + line]),
  );
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: ['node'],
    skipLibCheck: true,
    experimentalDecorators: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    paths: {
      '@nest-event-bus/*/runtime': [`${ROOT}/libs/*/src/runtime/index.ts`],
      '@nest-event-bus/*/kafkajs': [`${ROOT}/libs/*/src/kafkajs/index.ts`],
      '@nest-event-bus/*': [`${ROOT}/libs/*/src/index.ts`],
    },
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.getSourceFile = (file, ...rest) => {
    const text = sources.get(file);
    return text === undefined
      ? getSourceFile(file, ...rest)
      : ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  return new Map(
    [...sources.keys()].map((file, index) => [
      lines[index] ?? '',
      program
        .getSemanticDiagnostics(program.getSourceFile(file))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ]),
  );
}
