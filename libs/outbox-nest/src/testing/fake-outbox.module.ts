import { Inject, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { ListenerExplorer } from '../listener-explorer.js';
import type { FakeOutbox } from './fake-outbox.js';

export const FAKE_OUTBOX = Symbol('FAKE_OUTBOX');

/** Registers the methods with `@OutboxListener` at a FakeOutbox. */
@Module({})
export class FakeOutboxModule implements OnApplicationBootstrap {
  constructor(
    @Inject(FAKE_OUTBOX) private readonly outbox: FakeOutbox,
    @Inject(ListenerExplorer) private readonly explorer: ListenerExplorer,
  ) {}

  onApplicationBootstrap(): void {
    this.explorer.register(this.outbox.registry);
  }
}
