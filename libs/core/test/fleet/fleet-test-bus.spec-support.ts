import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { EventBusAdmin } from '../../src/admin/event-bus-admin.js';
import type { FleetProperties } from '../../src/config/properties/event-bus-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import type { AdminCommand } from '../../src/model/events/event-bus-events.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';

const BINDING = {
  topic: 'orders',
  groupId: 'shop',
  provisioning: 'create',
  offsetReset: 'earliest',
  retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000 }] },
} as const;

/** One process of the fleet. */
export interface Process {
  readonly name: string;
  readonly admin: EventBusAdmin;
  readonly application: INestApplicationContext;
  readonly handled: unknown[];
  readonly commands: AdminCommand[];
}

/** Several applications with one binding `orders`, on one memory broker and in one virtual time. */
export class FleetTestBus extends TestBus {
  static async create(): Promise<FleetTestBus> {
    const bus = new FleetTestBus();
    await bus.topic('orders', 3);
    return bus;
  }

  /** Starts a process. `fleet` null: without a control topic. */
  async process(
    name: string,
    fleet: Partial<FleetProperties> | null = {},
    options: Options = {},
  ): Promise<Process> {
    const handled: unknown[] = [];
    @Injectable()
    class Orders {
      @EventHandler('orders')
      onOrder({ value }: EventRecord): void {
        handled.push(value);
      }
    }
    const common = { controlTopic: 'control', provisioning: 'create', instance: name } as const;
    const application = await this.start({
      imports: [
        this.module({
          bindings: { orders: BINDING },
          ...options,
          ...(fleet && { fleet: { ...common, ...fleet } }),
        }),
      ],
      providers: [Orders],
    });
    const commands: AdminCommand[] = [];
    application
      .get(EventBusEvents, { strict: false })
      .on('admin.command')
      .subscribe((event) => commands.push(event));
    const admin = application.get(EventBusAdmin, { strict: false });
    return { name, admin, application, handled, commands };
  }

  async processes(...names: readonly string[]): Promise<readonly Process[]> {
    const started: Process[] = [];
    for (const name of names) started.push(await this.process(name));
    return started;
  }

  stateOf({ admin }: Process): string {
    return admin.listBindings().bindings[0]?.state ?? 'none';
  }

  pausesOf({ admin }: Process): readonly string[] {
    return admin.listBindings().bindings[0]?.remainingPauses ?? [];
  }
}
