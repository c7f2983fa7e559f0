import { IsTextLike } from '../properties/property-decorators.js';

const LEGAL = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;

/** Checks Kafka's rule for topic names. */
export const isTopicName = (name: string): boolean => LEGAL.test(name);

export const TOPIC_NAME =
  "a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'";

export const IsTopicName = (): PropertyDecorator => IsTextLike(LEGAL, TOPIC_NAME, 'TOPIC_NAME');

export const IsTopicSuffix = (): PropertyDecorator =>
  IsTextLike(
    /^(?:[A-Za-z0-9._-]|\{n\}){1,200}$/,
    "a topic suffix: characters a-z, A-Z, 0-9, '.', '_' and '-', with {n} for the number of the tier",
    'TOPIC_NAME',
  );
