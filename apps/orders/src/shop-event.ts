import { IsInt, IsString, Min } from 'class-validator';

/** Travels through all three bindings of the demo: an order, its payment, its notification. */
export class ShopEvent {
  @IsString() id!: string;
  @IsString() customer!: string;
  @IsString() article!: string;
  @IsInt() @Min(1) quantity!: number;
}
