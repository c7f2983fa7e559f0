import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import ts from 'typescript';
import { resolve } from 'node:path';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { DltRecord } from '../../model/records/dlt-record.js';
import { EventHandler, type EventHandlerFactory } from './event-handler.js';
import { DltAlert, DltHandler } from './dlt-decorators.js';
import { Ctx, Payload } from './parameters.js';

class OrderPlaced {
  readonly id!: number;
  readonly customer!: string;
}
class OrderCancelled {
  readonly id!: number;
  readonly reason!: string;
}
class Refund {
  readonly amount!: number;
}

/** The type that EventHandler has after an application has declared its bindings. */
const Typed = EventHandler as EventHandlerFactory<{
  orders: OrderPlaced | OrderCancelled;
  refunds: Refund;
}>;

/**
 * The compiler checks this class: `npm run typecheck` fails if a line compiles although it must
 * not.
 */
class Declared {
  @Typed('orders', { type: 'OrderPlaced', payload: OrderPlaced })
  placed(_record: EventRecord<OrderPlaced>, _context: EventContext): void {}

  @Typed('refunds')
  refunded({ value }: EventRecord<Refund>): number {
    return value.amount;
  }

  @Typed('refunds')
  anything(_record: EventRecord): void {}

  @Typed('orders', { payload: OrderPlaced })
  named(@Payload() _order: OrderPlaced, @Payload('id') _id: number): void {}

  @Typed.Batch('refunds')
  many(_records: readonly EventRecord<Refund>[], _contexts: readonly EventContext[]): void {}

  @Typed('orders', { type: 'OrderPlaced' })
  oneMember(_record: EventRecord<OrderPlaced>): void {}

  @Typed('orders', { type: 'OrderPlaced' })
  allMembers(_record: EventRecord<OrderPlaced | OrderCancelled>): void {}

  @Typed.Batch('orders', { type: 'OrderPlaced' })
  manyOfOneMember(_records: readonly EventRecord<OrderPlaced>[]): void {}

  @Typed('undeclared' as string)
  runTimeName(_record: EventRecord<OrderPlaced>): void {}

  // @ts-expect-error -- without a type the handler gets all members of the union
  @Typed('orders')
  memberWithoutType(_record: EventRecord<OrderPlaced>): void {}

  // @ts-expect-error -- the type selects among the members of the union only
  @Typed('orders', { type: 'OrderPlaced' })
  noMember(_record: EventRecord<Refund>): void {}

  // @ts-expect-error -- no such binding
  @Typed('odrers')
  wrongName(): void {}

  // @ts-expect-error -- the binding carries no refunds
  @Typed('orders', { payload: Refund })
  wrongPayload(): void {}

  // @ts-expect-error -- the handler takes another type than its payload
  @Typed('orders', { payload: OrderPlaced })
  wrongRecord(_record: EventRecord<OrderCancelled>): void {}

  @Typed('refunds')
  numberAsKey({ key }: EventRecord<Refund, number>): number {
    return key;
  }

  @Typed.Batch('refunds')
  buffersAsKeys(_records: readonly EventRecord<Refund, Buffer>[]): void {}

  // @ts-expect-error -- another type of key does not hide the wrong payload
  @Typed('refunds')
  wrongPayloadBesideKey(_record: EventRecord<OrderPlaced, number>): void {}

  // @ts-expect-error -- the handler takes another type than the payload of its binding
  @Typed('refunds')
  wrongBinding(_record: EventRecord<OrderPlaced>): void {}

  // @ts-expect-error -- this handler takes another type as well
  @Typed.Batch('refunds')
  wrongBatch(_records: readonly EventRecord<OrderPlaced>[]): void {}
}

class Undeclared {
  @EventHandler('whatever')
  any(_record: EventRecord<OrderPlaced>): void {}

  @EventHandler('whatever', { type: 'OrderPlaced', concurrency: 2 })
  async destructured({ value }: EventRecord<OrderPlaced>, { log }: EventContext): Promise<void> {
    log.info(String(value.id));
  }

  @EventHandler.Batch('whatever')
  batch(_records: EventRecord<OrderPlaced>[]): void {}

  @EventHandler('whatever', { payload: OrderPlaced })
  fits(_record: EventRecord<OrderPlaced>): void {}

  @EventHandler('whatever')
  // oxlint-disable-next-line typescript/no-explicit-any -- users write it
  untyped(_record: any, _context: any): void {}

  @EventHandler.Batch('whatever')
  untypedBatch(_records: unknown): void {}

  @EventHandler.Batch('whatever')
  namedBatch(@Payload() _orders: OrderPlaced[], @Ctx() _contexts: EventContext[]): void {}

  // @ts-expect-error -- a handler of single records takes no array
  @EventHandler('whatever')
  array(_records: readonly EventRecord[]): void {}

  // @ts-expect-error -- a handler of single records takes one context
  @EventHandler('whatever')
  arrayOfContexts(_record: EventRecord, _contexts: EventContext[]): void {}

  // @ts-expect-error -- a batch handler takes an array
  @EventHandler.Batch('whatever')
  single(_record: EventRecord): void {}

  // @ts-expect-error -- a batch handler takes an array of contexts
  @EventHandler.Batch('whatever')
  singleContext(_records: EventRecord[], _context: EventContext): void {}

  // @ts-expect-error -- the decorator is for methods
  @EventHandler('whatever')
  property = 1;

  // @ts-expect-error -- a payload is compared even if no binding is declared
  @EventHandler('whatever', { payload: OrderPlaced })
  other(_record: EventRecord<Refund>): void {}
}

class Composed {
  @applyDecorators(EventHandler('whatever', { payload: OrderPlaced }), UseGuards())
  one(_record: EventRecord<OrderPlaced>): void {}

  @applyDecorators(Typed('orders', { type: 'OrderPlaced' }), SetMetadata('a', 1))
  typed(_record: EventRecord<OrderPlaced>): void {}

  @applyDecorators(Typed.Batch('refunds'), UseGuards())
  many(_records: readonly EventRecord<Refund>[]): void {}

  @applyDecorators(DltHandler('whatever'), DltAlert())
  letter(_record: DltRecord): void {}
}

describe('The types of EventHandler', () => {
  it('accept the valid handler classes of this file', () => {
    const classes = [Declared, Undeclared, Composed].map(({ name }) => name);
    expect(classes).toEqual(['Declared', 'Undeclared', 'Composed']);
  });

  it('accept only the bindings and payloads that declaration merging declares, if there are any', () => {
    const merged = `
      declare module '../../model/states/event-bus-bindings.js' {
        interface EventBusBindings { orders: { id: number } }
      }`;
    const use = `
      import type { BindingName, PayloadOf } from '../../model/states/event-bus-bindings.js';
      export const name: BindingName = 'odrers';
      export const payload: PayloadOf<'orders'> = 'text';`;
    expect(errorsOf(use)).toEqual([]);
    expect(errorsOf(merged + use)).toEqual([
      `Type '"odrers"' is not assignable to type '"orders"'.`,
      "Type 'string' is not assignable to type '{ id: number; }'.",
    ]);
  }, 30_000);
});

function errorsOf(source: string): readonly string[] {
  const file = resolve(__dirname, 'merged-bindings.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022)
      : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
