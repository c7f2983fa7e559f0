/**
 * Token of a TopicNamingStrategy, which names the topics of every binding that has no strategy of
 * its own.
 */
export const TOPIC_NAMING_STRATEGY = Symbol.for('nest-event-bus:topic-naming-strategy');

/** Token of an ExceptionClassifier, which decides where failed records go. */
export const EXCEPTION_CLASSIFIER = Symbol.for('nest-event-bus:exception-classifier');

/** Token of the KafkaErrorHandlerOptions that KafkaErrorHandler uses. */
export const KAFKA_ERROR_HANDLER_OPTIONS = Symbol.for('nest-event-bus:kafka-error-handler-options');

/** Token of a LagAlertHandler, which gets every `lag.alert`. */
export const LAG_ALERT_HANDLER = Symbol.for('nest-event-bus:lag-alert-handler');

/** Token of an EventBusTracer, which creates the spans of all bindings. */
export const EVENT_BUS_TRACER = Symbol.for('nest-event-bus:tracer');
