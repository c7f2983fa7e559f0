import { DeadEventManager } from '@nest-event-bus/outbox';
import { Body, Controller, Get, HttpCode, NotFoundException, Param, Post } from '@nestjs/common';
import { Bank } from './bank.js';
import { type Order, Orders } from './orders.js';
import { Warehouse } from './warehouse.js';

interface DeadEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly lastError: string | null;
}

@Controller()
export class ShopController {
  constructor(
    private readonly orders: Orders,
    private readonly warehouse: Warehouse,
    private readonly bank: Bank,
    private readonly deadEvents: DeadEventManager,
  ) {}

  @Post('orders')
  place(@Body() wish?: { readonly article?: unknown }): Promise<Order> {
    return this.orders.place(wish?.article);
  }

  @Post('orders/:id/cancel')
  cancel(@Param('id') id: string): Promise<Order> {
    return this.orders.cancel(id);
  }

  @Get('orders')
  list(): Promise<readonly unknown[]> {
    return this.orders.all();
  }

  @Get('effects')
  effects(): object {
    const { warehouse, bank } = this;
    return { parcels: warehouse.parcels, refunds: bank.refunds, bankIsOpen: bank.isOpen };
  }

  @Post('bank/:state')
  @HttpCode(200)
  setBank(@Param('state') state: string): object {
    this.bank.isOpen = state === 'open';
    return { bankIsOpen: this.bank.isOpen };
  }

  @Get('outbox/dead')
  async dead(): Promise<readonly DeadEvent[]> {
    const events = await this.deadEvents.query();
    return events.map(({ eventId, eventType, lastError }) => ({ eventId, eventType, lastError }));
  }

  @Post('outbox/dead/:eventId/replay')
  async replay(@Param('eventId') eventId: string): Promise<object> {
    if (await this.deadEvents.replay(eventId)) return { replayed: eventId };
    throw new NotFoundException(`Event ${eventId} is not DEAD.`);
  }
}
