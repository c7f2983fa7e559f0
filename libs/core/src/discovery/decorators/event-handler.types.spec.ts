import ts from 'typescript';
import { resolve } from 'node:path';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { EventHandler, type EventHandlerFactory } from './event-handler.js';
import { Payload } from './parameters.js';

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

/** The type of EventHandler after an application has declared its bindings. */
const Typed = EventHandler as EventHandlerFactory<{
  orders: OrderPlaced | OrderCancelled;
  refunds: Refund;
}>;

/** Checked by the compiler only: `npm run typecheck` fails if a line compiles that must not. */
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

  // @ts-expect-error -- no such binding
  @Typed('odrers')
  wrongName(): void {}

  // @ts-expect-error -- the binding carries no refunds
  @Typed('orders', { payload: Refund })
  wrongPayload(): void {}

  // @ts-expect-error -- the handler takes another type than its payload
  @Typed('orders', { payload: OrderPlaced })
  wrongRecord(_record: EventRecord<OrderCancelled>): void {}

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

  // @ts-expect-error -- a payload is compared even if no binding is declared
  @EventHandler('whatever', { payload: OrderPlaced })
  other(_record: EventRecord<Refund>): void {}
}

describe('The types of EventHandler', () => {
  it('accept the classes above', () => {
    expect([Declared.name, Undeclared.name]).toEqual(['Declared', 'Undeclared']);
  });

  it('know the bindings of declaration merging', () => {
    const merged = `
      declare module './event-bus-bindings.js' {
        interface EventBusBindings { orders: { id: number } }
      }`;
    const use = `
      import type { BindingName, PayloadOf } from './event-bus-bindings.js';
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
