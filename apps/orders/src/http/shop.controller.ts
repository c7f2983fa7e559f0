import { Body, Controller, Get, Post } from '@nestjs/common';
import { ShopEvent } from '../shop-event.js';
import { Books } from '../traffic/books.js';
import { Shop } from '../traffic/shop.js';

@Controller()
export class ShopController {
  constructor(
    private readonly shop: Shop,
    private readonly books: Books,
  ) {}

  @Post('orders')
  place(@Body() wish?: Partial<Pick<ShopEvent, 'customer' | 'article'>>): Promise<ShopEvent> {
    return this.shop.order({ customer: wish?.customer, article: wish?.article });
  }

  @Get('books')
  read(): ReturnType<Books['entries']> {
    return this.books.entries();
  }
}
