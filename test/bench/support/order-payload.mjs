import { IsInt, IsNumber, IsString } from 'class-validator';

/** What `orderJson` writes, by class-validator's rules. */
export class Order {}

IsInt()(Order.prototype, 'id');
IsNumber()(Order.prototype, 'amount');
for (const field of ['customer', 'currency', 'note']) IsString()(Order.prototype, field);
