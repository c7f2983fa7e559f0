import { IsInt, IsNumber, IsString } from 'class-validator';

/** The payload that `orderJson` writes, with class-validator rules. */
export class Order {}

IsInt()(Order.prototype, 'id');
IsNumber()(Order.prototype, 'amount');
for (const field of ['customer', 'currency', 'note']) IsString()(Order.prototype, field);
