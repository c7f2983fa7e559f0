/**
 * Fill it by declaration merging and the compiler knows the names of your bindings and what their
 * records carry:
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

/** Every string, or the declared names once there are some. */
export type BindingName = NameIn<EventBusBindings>;

export type PayloadIn<Bindings, Name extends string> = Name extends keyof Bindings
  ? Bindings[Name]
  : unknown;

/** What the records of a binding carry; unknown where it is not declared. */
export type PayloadOf<Name extends string> = PayloadIn<EventBusBindings, Name>;
