/** Provide an ExceptionClassifier under this token and it decides where failed records go. */
export const EXCEPTION_CLASSIFIER = Symbol.for('nest-event-bus:exception-classifier');
