import { Injectable, type Type } from '@nestjs/common';
import { IsString, Matches } from 'class-validator';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventHandlerOptions } from '../../src/discovery/decorators/handler-options.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { throwMarked } from './marked-test-bus.spec-support.js';

/** Creates a host with a handler of binding `orders`. */
export function handling(
  handle: (record: EventRecord, context: EventContext) => unknown = () => undefined,
  options: EventHandlerOptions = {},
  ...decorators: MethodDecorator[]
): Type {
  @Injectable()
  class Orders {
    onOrder(record: EventRecord, context: EventContext): unknown {
      return handle(record, context);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'onOrder')!;
  for (const decorate of [EventHandler('orders', options) as MethodDecorator, ...decorators])
    decorate(Orders.prototype, 'onOrder', descriptor);
  return Orders;
}

export const failing = handling(throwMarked);

export class QuotingPayload {
  @IsString()
  @Matches(/^never$/, { message: 'got $value' })
  id = '';
}

export const deserializer = { name: 'mine', deserialize: throwMarked };
