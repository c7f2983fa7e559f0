import { ConnectionError } from '../../port/errors.js';
import { connectionReasonOf } from './connection-reason.js';

const SECRET = 'hunter2';

class KafkaJSConnectionError extends Error {}
class KafkaJSProtocolError extends Error {}

describe('connectionReasonOf()', () => {
  it.each([
    ['of kafkajs', new KafkaJSProtocolError('The broker refused. '), 'The broker refused.'],
    [
      'of kafkajs about a socket',
      Object.assign(new KafkaJSConnectionError('Connection error: connect ECONNREFUSED'), {
        code: 'ECONNREFUSED',
      }),
      'Connection error: connect ECONNREFUSED',
    ],
    [
      'of kafkajs about a certificate that cannot be read',
      new KafkaJSConnectionError('Failed to connect: error:1E08010C:DECODER routines::unsupported'),
      'Failed to connect: error:1E08010C:DECODER routines::unsupported',
    ],
    ['of the client', new ConnectionError('It broke.'), 'It broke.'],
  ])('says the message of an error %s', (_, error, expected) => {
    expect(connectionReasonOf(error)).toBe(expected);
  });

  it.each([
    [
      'a function in the ssl options',
      new KafkaJSConnectionError(`Connection error: ${SECRET}`),
      'Connection error',
    ],
    [
      'a wrong ssl option, in the words of kafkajs',
      new KafkaJSConnectionError(`Failed to connect: Received type number (${SECRET})`),
      'Failed to connect',
    ],
    [
      'a wrong ssl option',
      Object.assign(new TypeError(`got ${SECRET}`), { code: 'ERR_INVALID_ARG_TYPE' }),
      'TypeError ERR_INVALID_ARG_TYPE',
    ],
  ])('leaves out the message of an error of %s', (_, error, expected) => {
    expect(connectionReasonOf(error)).toBe(expected);
  });
});
