/**
 * Extended by declaration merging, so that the compiler knows the names of your bindings and the
 * payloads of their records:
 *
 * declare module '@nest-event-bus/core' {
 *   interface EventBusBindings {
 *     orders: OrderPlaced | OrderCancelled;
 *   }
 * }
 *
 * Literal names are then compared with the declared ones. A name of type `string` is always accepted:
 * one that is known only at run time, or `'temporary' as string` in a test.
 */
// eslint-disable-next-line typescript/no-empty-object-type -- empty until an application fills it
export interface EventBusBindings {}

export type NameIn<Bindings> = keyof Bindings extends never ? string : keyof Bindings & string;

/** Any string if no binding is declared, otherwise only the declared names. */
export type BindingName = NameIn<EventBusBindings>;

/** Any string. Editors suggest the declared names. */
export type AnyNameIn<Bindings> = NameIn<Bindings> | (string & {});

/** Constraint of a type parameter that takes the name of a binding. */
export type AnyBindingName = AnyNameIn<EventBusBindings>;

/**
 * Resolves to unknown unless the name is a literal that is not declared, else to a type whose missing
 * property is the message of the compile error.
 */
export type NameCheck<
  Name extends string,
  Bindings = EventBusBindings,
> = keyof Bindings extends never
  ? unknown
  : [Name] extends [keyof Bindings]
    ? unknown
    : // A literal name makes a required property, and any other name an index signature.
      {} extends { readonly [Each in Name]: unknown }
      ? unknown
      : { readonly 'EventBusBindings declares other names only': keyof Bindings };

/** A reference to a binding whose name is declared, or known only at run time. */
export type CheckedBindingRef<Name extends string> = (
  Name | { readonly cluster: string; readonly name: Name }
) &
  NameCheck<Name>;

export type PayloadIn<Bindings, Name extends string> = Name extends keyof Bindings
  ? Bindings[Name]
  : unknown;

/** Payload type of a binding's records; unknown if the binding is not declared. */
export type PayloadOf<Name extends string> = PayloadIn<EventBusBindings, Name>;

/** Payload type of a binding's records, or `Otherwise` if the binding is not declared. */
export type DeclaredPayload<Name extends string, Otherwise> =
  unknown extends PayloadOf<Name> ? Otherwise : PayloadOf<Name>;

/** An event for a binding: its payload, bytes, or null for a tombstone. */
export type EventOf<Name extends string> =
  unknown extends PayloadOf<Name> ? unknown : PayloadOf<Name> | Buffer | null;

/** Values by the names of the bindings. */
export type ByBinding<Value> = keyof EventBusBindings extends never
  ? Readonly<Record<string, Value>>
  : { readonly [Name in keyof EventBusBindings & string]?: Value };
