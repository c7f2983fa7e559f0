/**
 * Extended by declaration merging, so that the compiler knows the names of your bindings and the
 * payloads of their records:
 *
 * declare module '@nest-event-bus/core' {
 *   interface EventBusBindings {
 *     orders: OrderPlaced | OrderCancelled;
 *   }
 * }
 */
// eslint-disable-next-line typescript/no-empty-object-type -- empty until an application fills it
export interface EventBusBindings {}

export type NameIn<Bindings> = keyof Bindings extends never ? string : keyof Bindings & string;

/** Any string, or only the declared names as soon as there are some. */
export type BindingName = NameIn<EventBusBindings>;

export type PayloadIn<Bindings, Name extends string> = Name extends keyof Bindings
  ? Bindings[Name]
  : unknown;

/** Payload type of a binding's records; unknown if the binding is not declared. */
export type PayloadOf<Name extends string> = PayloadIn<EventBusBindings, Name>;
