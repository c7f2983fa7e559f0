import { BrokerError, ClosedError, type BrokerDriver } from '@nest-event-bus/broker';
import * as contract from '@nest-event-bus/broker/contract';
import * as kafkajs from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import * as testing from '@nest-event-bus/testing';

/** Compiled, not run: the declarations of every entry point are found and consistent. */
export const driver: BrokerDriver = memory();
export const runtime: Runtime = new VirtualRuntime();
export const error: BrokerError = new ClosedError('closed');
export const everything = { contract, kafkajs, testing };

// @ts-expect-error: were the declarations not found, everything would be `any` and this would compile.
driver.missing();
