import {
  Controller,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { tap, type Observable } from 'rxjs';
import { EventHandler } from '../decorators/event-handler.js';

/** Collects what enhancers and handlers of a test have done. Each spec clears it before a test. */
export const seen: unknown[] = [];

export class Boom extends Error {}

export class Failing {
  @EventHandler('orders')
  handle(): void {
    throw new Boom('handler');
  }
}

export class Succeeding {
  @EventHandler('orders')
  handle(): void {
    seen.push('handled');
  }
}

export class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

export class Observing implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push('before');
    return next.handle().pipe(tap(() => seen.push('after')));
  }
}

export function controllerOf<T extends new () => object>(Base: T): T {
  class Made extends (Base as new () => object) {}
  Controller()(Made);
  return Made as T;
}
