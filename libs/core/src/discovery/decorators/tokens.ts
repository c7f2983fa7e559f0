/** Provide a TopicNamingStrategy under this token and it names the topics of every binding that has none of its own. */
export const TOPIC_NAMING_STRATEGY = Symbol.for('nest-event-bus:topic-naming-strategy');

/** Provide an ExceptionClassifier under this token and it decides where failed records go. */
export const EXCEPTION_CLASSIFIER = Symbol.for('nest-event-bus:exception-classifier');

/** Provide KafkaErrorHandlerOptions under this token and KafkaErrorHandler goes by them. */
export const KAFKA_ERROR_HANDLER_OPTIONS = Symbol.for('nest-event-bus:kafka-error-handler-options');
