import { Transform } from 'class-transformer';

/** Converts a property for the JSON of an HTTP response. undefined leaves it out. */
type JsonForm = (value: never) => unknown;

/**
 * Declares how class-transformer writes properties of a class, because Nest's
 * `ClassSerializerInterceptor` does not call `toJSON`.
 */
export function declareJsonForms<T extends object>(
  type: { readonly prototype: T },
  forms: { readonly [Key in keyof T & string]?: JsonForm },
): void {
  for (const [key, form] of Object.entries(forms)) {
    const toForm = form as (value: unknown) => unknown;
    Transform(({ value }) => toForm(value), { toPlainOnly: true })(type.prototype, key);
  }
}
