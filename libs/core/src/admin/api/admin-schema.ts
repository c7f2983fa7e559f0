import * as schema from './schema.js';

/** Describes what the routes of an `AdminExtension` take and answer. */
export const adminSchema = Object.freeze({
  anyOf: schema.anyOf,
  choice: schema.choice,
  constant: schema.constant,
  explained: schema.explained,
  flag: schema.flag,
  integer: schema.integer,
  list: schema.list,
  named: schema.named,
  nothing: schema.nothing,
  number: schema.number,
  object: schema.object,
  record: schema.record,
  text: schema.text,
  time: schema.time,
});
